// `syncopate bench`: what the collectives cost, and what they save, against MPI and Gloo on the
// same work in the same run.
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <optional>

#include "base/printable.h"
#include "bench/suite/activation_report.h"
#include "bench/suite/commands.h"
#include "bench/suite/compare.h"
#include "bench/suite/idle_report.h"
#include "bench/suite/neighbors.h"
#include "bench/suite/rank.h"
#include "bench/suite/report.h"
#include "bench/suite/request.h"
#include "bench/suite/tax_report.h"
#include "cli/console/arguments.h"
#include "cli/console/machine.h"
#include "cli/console/option.h"
#include "cli/console/program.h"

namespace syncopate::cli {

namespace {

using namespace bench;

constexpr int kPaperRanks = 32;
constexpr int kPaperIterations = 64;

/// Peers would read what belongs to our caller.
void close_input() {
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) {
    ::dup2(nothing, STDIN_FILENO);
    ::close(nothing);
  }
}

/// Ours with each trigger, and each peer.
std::vector<Entry> entries(const Request& request) {
  std::vector<Entry> entries;
  for (const std::string& trigger : request.triggers) {
    entries.push_back({request.ours, request.work});
    entries.back().work.trigger = trigger;
  }
  for (const Side& peer : request.peers.found) entries.push_back({peer, request.work});
  return entries;
}

int run(const Request& given) {
  close_input();
  Request request = given;
  if (request.work.operation == "group" && request.work.group_size == 0) {
    request.work.group_size = std::max(1, int(std::lround(std::sqrt(request.ranks))));
  }
  if (!request.speaks) {
    compare(entries(request), request.repetitions, request.timeout_seconds);
    return 0;
  }
  std::optional<JsonFile> file;
  if (!request.json_file.empty()) file.emplace(request.json_file);
  Setting setting = current_setting();
  // (Where a launcher has started the ranks, their memory may be that of several machines.)
  if (request.work.skew == peers::Skew::none && !request.ours.here) {
    setting.copy_bandwidth = copy_bandwidth(std::min(request.ranks, usable_cores()));
  }
  print_introduction(request, setting);
  const Neighbors neighbors(request.neighbors);
  const Comparison comparison =
      compare(entries(request), request.repetitions, request.timeout_seconds);
  report(request, setting, comparison, file ? &*file : nullptr);
  for (const std::string& failure : comparison.failures) {
    fmt::print(stderr, "syncopate: {}\n", base::printable(failure));
  }
  return comparison.failures.empty() ? 0 : 1;
}

void refuse_without_benchmark(const CLI::App& bench) {
  if (!bench.get_subcommands().empty()) return;
  const auto rest = bench.remaining();
  throw UsageError(fmt::format(
      "bench must be followed by allreduce, partial, group, tax, activation or idle{}, as in: "
      "syncopate bench partial --ranks 8",
      rest.empty() ? "" : ", not '" + rest[0] + "'"));
}

/// A benchmark that was ended by the user returns as a shell expects.
template <typename Work>
int run_unless_interrupted(const Work& work) {
  try {
    return work();
  } catch (const Interrupted& end) {
    return end.exit_code;
  }
}

void add_against(CLI::App& command, Typed& typed, const Defaults& defaults) {
  add_option(command, "--against", typed.against, "LIST",
             fmt::format("Peers on the same work: {}, mpi (both), all or none; {} if not given",
                         fmt::join(peer_names(), ","), defaults.against));
}

void add_allreduce(CLI::App& bench, int& exit_code) {
  const Defaults defaults{.operation = "allreduce",
                          .ranks = usable_cores(),
                          .bytes = "8,64,512,4K,32K,64K,256K,1M,4M,16M,100M",
                          .against = "all",
                          .repetitions = 3};
  auto typed = std::make_shared<Typed>();
  auto* command = bench.add_subcommand("allreduce", "The sum over all ranks, all on time");
  add_common_options(*command, *typed, defaults);
  add_against(*command, *typed, defaults);
  add_plain_options(*command, *typed);
  add_neighbor_options(*command, *typed);
  command->callback([typed, defaults, &exit_code] {
    exit_code = run_unless_interrupted([&] { return run(checked(*typed, defaults)); });
  });
}

void add_skewed(CLI::App& bench, const Defaults& defaults, const char* description,
                int& exit_code) {
  auto typed = std::make_shared<Typed>();
  auto* command = bench.add_subcommand(defaults.operation, description);
  add_common_options(*command, *typed, defaults);
  add_against(*command, *typed, defaults);
  add_skew_options(*command, *typed, defaults);
  if (defaults.operation == "group") {
    add_option(*command, "--group-size", typed->group_size, "N",
               "Ranks per group; the square root of the ranks if not given");
    add_option(*command, "--sync-every", typed->synchronize_every, "N",
               "All ranks together every so many steps; 10, or never with --chronic");
  }
  command->callback([typed, defaults, &exit_code] {
    exit_code = run_unless_interrupted([&] { return run(checked(*typed, defaults)); });
  });
}

void add_tax(CLI::App& bench, int& exit_code) {
  const Defaults defaults{.operation = "tax",
                          .ranks = std::max(2, usable_cores()),
                          .bytes = "64K,1M",
                          .repetitions = 9};
  auto typed = std::make_shared<Typed>();
  auto* command = bench.add_subcommand(
      "tax", "How much a rank that computes is slowed while the others run rounds");
  add_common_options(*command, *typed, defaults);
  add_option(*command, "--seconds", typed->seconds, "S",
             "Computing per repetition; 0.5 if not given");
  command->callback([typed, defaults, &exit_code] {
    exit_code = run_unless_interrupted([&] {
      close_input();
      return run_tax(checked(*typed, defaults));
    });
  });
}

void add_activation(CLI::App& bench, int& exit_code) {
  auto typed = std::make_shared<Typed>();
  auto* command = bench.add_subcommand(
      "activation", "From one rank's arrival to the last machine's result, by number of machines");
  add_activation_options(*command, *typed);
  command->callback([typed, &exit_code] {
    exit_code = run_unless_interrupted([&] {
      close_input();
      return run_activation(checked_activation(*typed));
    });
  });
}

void add_idle(CLI::App& bench, int& exit_code) {
  const Defaults defaults{
      .operation = "idle", .ranks = 4, .bytes = "8", .repetitions = 3, .fabric = "openmpi"};
  auto typed = std::make_shared<Typed>();
  auto* command = bench.add_subcommand(
      "idle", "What ranks that sleep take of a core, on one board and on several with agents");
  add_rank_options(*command, *typed, defaults);
  add_option(*command, "--seconds", typed->seconds, "S", "Of sleep per repetition; 3 if not given");
  add_run_options(*command, *typed, defaults);
  command->callback([typed, defaults, &exit_code] {
    if (typed->seconds.empty()) typed->seconds = "3";
    exit_code = run_unless_interrupted([&] {
      close_input();
      return run_idle(checked(*typed, defaults));
    });
  });
}

}  // namespace

void add_bench(CLI::App& program, int& exit_code) {
  auto* command =
      program.add_subcommand("bench", "Measure the collectives, against MPI and Gloo if you like");
  command->require_subcommand(0, 1);
  command->footer(
      "'syncopate bench NAME --help' lists the options of each. Under mpirun or srun allreduce,\n"
      "partial and group measure the ranks that it has started.");
  command->callback([command] { refuse_without_benchmark(*command); });
  add_allreduce(*command, exit_code);
  add_skewed(*command,
             {.operation = "partial",
              .ranks = kPaperRanks,
              .bytes = "64-256K,1M,4M",
              .triggers = "first,majority,count:half,all",
              .against = "openmpi",
              .repetitions = 1,
              .iterations = kPaperIterations},
             "Sums that do not wait for late ranks: the eager-SGD paper's microbenchmark",
             exit_code);
  add_skewed(*command,
             {.operation = "group",
              .ranks = kPaperRanks,
              .bytes = "64-256K,1M,4M",
              .triggers = "first",
              .against = "openmpi",
              .repetitions = 1,
              .iterations = kPaperIterations},
             "Averages of weights in rotating groups that do not wait, under the same skew",
             exit_code);
  add_tax(*command, exit_code);
  add_activation(*command, exit_code);
  add_idle(*command, exit_code);
  command->allow_extras();  // After the others, which would inherit it.

  auto work = std::make_shared<std::string>();
  auto* rank = program.add_subcommand(kRankCommand)->group("");
  rank->add_option("work", *work)->required();
  rank->callback([work] { run_rank(*work); });
}

}  // namespace syncopate::cli
