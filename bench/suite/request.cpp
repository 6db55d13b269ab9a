#include "bench/suite/request.h"

#include <fmt/format.h>

#include "base/options.h"
#include "bench/suite/rank.h"
#include "bench/suite/sizes.h"
#include "cli/console/arguments.h"
#include "cli/console/option.h"
#include "cli/console/phrases.h"
#include "cli/console/program.h"
#include "fabric/job_environment.h"
#include "launch/launcher.h"
#include "syncopate/error.h"
#include "syncopate/policy.h"

namespace syncopate::cli::bench {

namespace {

using base::kLargestWindow;

constexpr long kMostIterations = 10'000'000;
constexpr long kMostRepetitions = 1000;
constexpr int kDefaultWindow = 8;
// Wide enough that the slow rank's lag never holds the others back.
constexpr int kChronicWindow = 64;
constexpr long kMostNeighbors = 1024;
constexpr double kMostSeconds = 86'400;
constexpr double kDefaultTimeout = 900;
// Two elements, so that the marks of even and odd iterations both have a place.
constexpr std::size_t kLeastSkewed = 2 * sizeof(float);

int number(const char* option, const std::string& text, long low, long high, int otherwise) {
  return text.empty() ? otherwise : int(whole_number(option, text, low, high));
}

std::vector<std::string> checked_triggers(const std::string& list, const std::string& operation,
                                          int ranks) {
  std::vector<std::string> triggers = split_list(list);
  for (std::string& text : triggers) {
    if (text == "count:half") text = fmt::format("count:{}", (ranks + 1) / 2);
    const Trigger trigger = [&] {
      try {
        return Trigger::parse(text);
      } catch (const Error&) {
        throw UsageError(fmt::format(
            "--triggers must be a list of first, majority, count:K, count:half and all, not '{}'",
            text));
      }
    }();
    if (trigger.kind == Trigger::Kind::count && (trigger.count < 1 || trigger.count > ranks)) {
      throw UsageError(
          fmt::format("count:K must be from 1 to the {} ranks, not {}", ranks, trigger.count));
    }
    if (operation == "group" && trigger.kind != Trigger::Kind::first &&
        trigger.kind != Trigger::Kind::all) {
      throw UsageError(fmt::format("the groups' triggers must be first or all, not '{}'", text));
    }
  }
  return triggers;
}

std::string checked_grace(const std::string& text) {
  try {
    static_cast<void>(Grace::parse(text));
    return text;
  } catch (const Error&) {
    throw UsageError(
        fmt::format("--grace must be off, auto, auto:SHARE or a time such as 2ms, not '{}'", text));
  }
}

peers::Workload workload(const Typed& typed, const Defaults& defaults, int ranks) {
  const bool skewed = defaults.operation == "partial" || defaults.operation == "group";
  peers::Workload work;
  work.operation = defaults.operation;
  work.skew = !skewed         ? peers::Skew::none
              : typed.chronic ? peers::Skew::chronic
                              : peers::Skew::arrival;
  work.bytes = parse_sizes("--bytes", typed.bytes.empty() ? defaults.bytes : typed.bytes,
                           skewed ? kLeastSkewed : sizeof(float));
  work.iterations =
      number("--iterations", typed.iterations, 1, kMostIterations, defaults.iterations);
  if (!typed.seconds.empty()) work.seconds = seconds("--seconds", typed.seconds, kMostSeconds);
  work.warmup = number("--warmup", typed.warmup, 1, kMostIterations, work.warmup);
  work.touch = !typed.no_touch;
  work.read = typed.read;
  work.average = defaults.operation == "group";
  if (!typed.grace.empty()) work.grace = checked_grace(typed.grace);
  const bool group = defaults.operation == "group";
  work.window = number("--window", typed.window, 1, kLargestWindow,
                       typed.chronic ? kChronicWindow
                       : group       ? 0
                                     : kDefaultWindow);
  work.group_size = number("--group-size", typed.group_size, 1, ranks, 0);
  // Everyone waits for the slow rank at a common step: with a chronic straggler there is none.
  work.synchronize_every = number("--sync-every", typed.synchronize_every, 0, kLargestWindow,
                                  typed.chronic ? 0 : work.synchronize_every);
  return work;
}

/// Ranks that mpirun or the like has started measure themselves, wherever they are.
Request checked_under_launcher(const Typed& typed, const Defaults& defaults, Request request,
                               const fabric::JobEnvironment& launcher) {
  if (!runs_anywhere(defaults.operation)) {
    refuse_under_launcher("syncopate bench " + defaults.operation,
                          "start it once, with --fabric to use MPI");
  }
  const auto refuse = [&](const std::string& what, const std::string& options) {
    throw UsageError(fmt::format(
        "{}, and {} has started {}; leave {} out, or start bench once, without a launcher", what,
        fabric::to_string(launcher.kind), counted(launcher.ranks, "rank"), options));
  };
  if (!typed.fabric.empty() || !typed.ranks_each.empty()) {
    refuse("--fabric and --ranks-each are for ranks that bench starts itself", "them");
  }
  if (!typed.against.empty() && typed.against != "none") {
    refuse("--against is for ranks that bench starts itself", "it");
  }
  if (!typed.ranks.empty() && request.ranks != launcher.ranks) {
    refuse(fmt::format("--ranks is {}", request.ranks), "--ranks");
  }
  request.ours = our_side_here(launcher);
  request.speaks = launcher.rank == 0;
  return request;
}

}  // namespace

void add_fabric_options(CLI::App& command, Typed& typed, const Defaults& defaults) {
  const bool optional = defaults.fabric.empty();
  add_option(
      command, "--fabric", typed.fabric, "MPI",
      optional
          ? "Run our ranks on several boards, with this between them: openmpi, mpich, mpi for the "
            "one that is installed, or tcp"
          : fmt::format("What is between the boards: openmpi, mpich, mpi for the one that is "
                        "installed, or tcp; {} if not given",
                        defaults.fabric));
  add_option(
      command, "--ranks-each", typed.ranks_each, "N",
      fmt::format("Ranks on each board{}; 1 if not given", optional ? " with --fabric" : ""));
}

void add_rank_options(CLI::App& command, Typed& typed, const Defaults& defaults) {
  add_option(command, "-n,--ranks", typed.ranks, "N",
             fmt::format("How many ranks; {} if not given", defaults.ranks));
  add_fabric_options(command, typed, defaults);
}

void add_run_options(CLI::App& command, Typed& typed, const Defaults& defaults) {
  add_option(command, "--repeat", typed.repeat, "N",
             fmt::format("Repetitions; each figure is the median over them; {} if not given",
                         defaults.repetitions));
  add_option(command, "--json", typed.json, "FILE",
             "Also write the rows as JSON, one object per line");
  add_option(command, "--timeout", typed.timeout, "S",
             fmt::format("End a run of one side after so many seconds; {:.0f} if not given",
                         kDefaultTimeout));
}

void add_common_options(CLI::App& command, Typed& typed, const Defaults& defaults) {
  add_rank_options(command, typed, defaults);
  add_option(command, "--bytes", typed.bytes, "LIST",
             fmt::format("Sizes: 8,64K,1M or a range 64-4M; {} if not given", defaults.bytes));
  add_run_options(command, typed, defaults);
}

void add_neighbor_options(CLI::App& command, Typed& typed) {
  add_option(command, "--neighbors", typed.neighbors, "N",
             "Start so many busy processes beside the ranks, for the whole run; 0 if not given");
  command.add_flag("--neighbors-pinned", typed.neighbors_pinned,
                   "Neighbor i stays on the i-th core; the kernel moves them if not given");
  add_option(command, "--neighbors-nice", typed.neighbors_nice, "N",
             "Let them give way, from 1 to 19; 0 if not given");
}

void add_plain_options(CLI::App& command, Typed& typed) {
  add_option(command, "--iterations", typed.iterations, "N",
             "Timed calls per size; by time if not given");
  add_option(command, "--seconds", typed.seconds, "S",
             "Time per size without --iterations; 0.5 if not given");
  add_option(command, "--warmup", typed.warmup, "N",
             "Calls before the timed ones; 10 if not given");
  command.add_flag("--no-touch", typed.no_touch,
                   "Do not rewrite the values before each call (the default is to, untimed)");
  command.add_flag("--read", typed.read,
                   "Each rank also reads the whole result, within the timed part");
}

void add_skew_options(CLI::App& command, Typed& typed, const Defaults& defaults) {
  add_option(command, "--iterations", typed.iterations, "N",
             fmt::format("Calls per size; {} if not given", defaults.iterations));
  add_option(command, "--triggers", typed.triggers, "LIST",
             fmt::format("What starts a round; {} if not given", defaults.triggers));
  add_option(command, "--grace", typed.grace, "TIME",
             "How long a round stays open: off, auto or 2ms");
  add_option(command, "--window", typed.window, "N",
             fmt::format("The most rounds a rank may lag; {}, or {} with --chronic", kDefaultWindow,
                         kChronicWindow));
  command.add_flag("--chronic", typed.chronic,
                   "One rank is always slow (32 ms per step, the others 1 ms), and no barrier");
}

Request checked(const Typed& typed, const Defaults& defaults) {
  const bool needs_two = defaults.operation != "allreduce";
  auto launcher = fabric::launcher_from_environment();
  if (launcher && launcher->ranks == 1) launcher.reset();
  Request request;
  request.ranks = number("--ranks", typed.ranks, needs_two ? 2 : 1, launch::kMostRanks,
                         launcher ? launcher->ranks : defaults.ranks);
  request.work = workload(typed, defaults, request.ranks);
  request.triggers = checked_triggers(typed.triggers.empty() ? defaults.triggers : typed.triggers,
                                      defaults.operation, request.ranks);
  request.repetitions = number("--repeat", typed.repeat, 1, kMostRepetitions, defaults.repetitions);
  request.timeout_seconds =
      typed.timeout.empty() ? kDefaultTimeout : seconds("--timeout", typed.timeout, kMostSeconds);
  request.json_file = typed.json;
  request.neighbors = {.count = number("--neighbors", typed.neighbors, 0, kMostNeighbors, 0),
                       .pinned = typed.neighbors_pinned,
                       .nice = number("--neighbors-nice", typed.neighbors_nice, 0, 19, 0)};
  if (request.neighbors.count == 0 && (typed.neighbors_pinned || !typed.neighbors_nice.empty())) {
    throw UsageError(
        "--neighbors-pinned and --neighbors-nice are for --neighbors N, which is not given");
  }
  if (launcher) return checked_under_launcher(typed, defaults, request, *launcher);
  request.fabric = named_fabric(typed.fabric.empty() ? defaults.fabric : typed.fabric);
  if (request.fabric.empty() && !typed.ranks_each.empty()) {
    throw UsageError("--ranks-each is for --fabric, which is not given");
  }
  request.ranks_each = number("--ranks-each", typed.ranks_each, 1, request.ranks, 1);
  request.ours = request.fabric.empty() ? our_side(request.ranks, kRankCommand)
                                        : our_side_across(request.ranks, kRankCommand,
                                                          request.fabric, request.ranks_each);
  request.peers = find_peers(typed.against.empty() ? defaults.against : typed.against,
                             request.ranks, request.neighbors.count > 0);
  const bool by_name = !typed.against.empty() && typed.against != "all";
  if (by_name && !request.peers.missing.empty()) {
    throw UsageError("--against: " + request.peers.missing.front());
  }
  return request;
}

}  // namespace syncopate::cli::bench
