// `syncopate tour`: partial collectives shown in a minute, with ranks that are late.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/suite/commands.h"
#include "bench/suite/side.h"
#include "bench/suite/tour/rank.h"
#include "cli/console/arguments.h"
#include "cli/console/option.h"
#include "cli/console/program.h"
#include "cli/console/progress.h"
#include "cli/console/table.h"

namespace syncopate::cli {

namespace {

using tour::Seen;
using tour::Skew;
using tour::Work;

constexpr int kRanks = 8;
constexpr int kGroup = 4;
constexpr int kDefaultSteps = 200;
constexpr double kTimeoutSeconds = 120;

struct Way {
  std::string name;
  std::string meaning;
  Work work;
};

/// The ways to exchange, the ordinary one first.
std::vector<Way> ways(Skew skew, int steps) {
  const Work plain{.skew = skew, .steps = steps};
  const auto way = [&](const char* name, const char* meaning, const char* trigger,
                       const char* grace = "off") {
    Way result{name, meaning, plain};
    result.work.trigger = trigger;
    result.work.grace = grace;
    return result;
  };
  std::vector<Way> all = {
      way("all", "everyone, as usual", "all"),
      way("first", "the first rank", "first"),
      way("majority", "a rank drawn by lot", "majority"),
      way("count(4)", "any 4 ranks", "count:4"),
      way("count(4)+grace", "any 4, then 2 ms more", "count:4", "2ms"),
      way("group of 4", "the first of a group", "group"),
  };
  all.back().work.group_size = kGroup;
  return all;
}

std::string title(const std::string& text) {
  const bool plain = isatty(STDOUT_FILENO) == 0 || std::getenv("NO_COLOR") != nullptr;
  return plain ? text : "\033[1m" + text + "\033[0m";
}

std::string waited_for(const Seen& seen) {
  constexpr double kClearly = 0.5;
  if (seen.wait_ms < 0.1 || seen.waited_for < 0) return "none";
  if (seen.waited_for_share < kClearly) return "all in turn";
  return fmt::format("rank {} ({:.0f} %)", seen.waited_for, seen.waited_for_share * 100);
}

std::string lost(const Seen& seen) {
  if (seen.gradients == 0) return "-";
  if (seen.exact_ranks != kRanks) return fmt::format("{:.0f}, sums differ", seen.lost);
  return fmt::format("{:.0f} of {:.0f}", seen.lost, seen.gradients);
}

bool kept_everything(const std::vector<Seen>& rows) {
  return std::ranges::all_of(
      rows, [](const Seen& seen) { return seen.lost == 0 && seen.exact_ranks == kRanks; });
}

/// Runs every way, and shows each as soon as it is measured.
std::vector<Seen> show(const std::vector<Way>& ways) {
  const Table table({{"trigger", 14, true},
                     {"a round waits for", 21, true},
                     {"ms/step", 7},
                     {"in a round", 10},
                     {"waited ms", 9},
                     {"mostly for", 14, true},
                     {"lost", 9, true}});
  fmt::print("{}\n", table.header("  "));
  std::vector<Seen> rows;
  for (const Way& way : ways) {
    Progress progress;
    progress.show("  " + way.name + " …");
    const auto printed =
        bench::run_side(bench::our_side(kRanks, tour::kRankCommand), way.work, kTimeoutSeconds);
    rows.push_back(printed.at(0).get<Seen>());
    const Seen& seen = rows.back();
    progress.clear();
    fmt::print("{}\n", table.row({way.name, way.meaning, format_number(seen.step_ms),
                                  fmt::format("{:.1f}", seen.contributors),
                                  format_number(seen.wait_ms), waited_for(seen), lost(seen)},
                                 "  "));
    std::fflush(stdout);
  }
  return rows;
}

/// Breaks a paragraph into lines, each moved in a little.
std::string wrap(const std::string& text) {
  constexpr std::size_t kColumns = 96;
  std::string lines, line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kColumns) lines += std::exchange(line, "") + "\n";
    line += (line.empty() ? "  " : " ") + word;
  }
  return lines + line;
}

/// The fastest way to sum gradients other than waiting for everyone.
std::size_t fastest(const std::vector<Seen>& rows) {
  std::size_t best = 1;
  for (std::size_t i = 2; i < rows.size(); ++i) {
    if (rows[i].gradients > 0 && rows[i].step_ms < rows[best].step_ms) best = i;
  }
  return best;
}

std::string conclusion(const std::vector<Way>& ways, const std::vector<Seen>& rows) {
  const Seen& usual = rows[0];
  const std::size_t best = fastest(rows);
  double gradients = 0;
  for (const Seen& seen : rows) gradients += seen.gradients;
  std::string text = fmt::format(
      "Seen: waiting for everyone cost {} ms of every {} ms step. With '{}' a step took {} ms, "
      "{:.1f} times as fast.",
      format_number(usual.wait_ms), format_number(usual.step_ms), ways[best].name,
      format_number(rows[best].step_ms), usual.step_ms / rows[best].step_ms);
  text += kept_everything(rows)
              ? fmt::format(
                    " Of {:.0f} gradients none was lost and none counted twice: on each of "
                    "the {} ranks the sum over rounds equals the sum over deposits.",
                    gradients, kRanks)
              : " Gradients were lost or counted twice, which must not happen. Please report it.";
  return wrap(text);
}

/// One part of the tour; whether every gradient was kept.
bool part(const std::string& heading, const std::string& text, Skew skew, int steps) {
  fmt::print("\n{}\n{}\n\n", title(heading), wrap(text));
  std::fflush(stdout);
  const std::vector<Way> all = ways(skew, steps);
  const std::vector<Seen> rows = show(all);
  fmt::print("\n{}\n", conclusion(all, rows));
  return kept_everything(rows);
}

int run_tour(int steps) {
  fmt::print(
      "{}\n{}\n", title("Syncopate: training that does not wait for stragglers"),
      wrap(fmt::format(
          "{} ranks train together on this machine. Each is a process; a sleep stands for its "
          "computing, and the exchange through shared memory is real. In ordinary training every "
          "step waits for the slowest rank. Here a round may start without the late ones, and "
          "what they bring is carried into the next.",
          kRanks)));
  bool kept = part(
      "1. Everyone is late in turn",
      fmt::format("A step takes 0 to {:.0f} ms, another time for each rank in each step, as with "
                  "sentences or videos of different length.",
                  tour::kTurnMilliseconds * (kRanks - 1)),
      Skew::turns, steps);
  kept = part("2. One rank is always slow",
              fmt::format("Rank {} needs {:.0f} ms for each step, the others {:.0f} to {:.0f} ms.",
                          kRanks - 1, tour::kStragglerMilliseconds, tour::kUsualMilliseconds,
                          tour::kUsualMilliseconds + 2),
              Skew::straggler, steps) &&
         kept;
  fmt::print("\n{}\n",
             wrap("in a round: how many ranks had something in it, fresh or carried over. waited: "
                  "how long a rank stood still per step, on average. lost: checked in whole "
                  "numbers, on every rank. To go on: syncopate bench partial --help"));
  return kept ? 0 : 1;
}

}  // namespace

void add_tour(CLI::App& program, int& exit_code) {
  auto steps = std::make_shared<std::string>();
  auto* command =
      program.add_subcommand("tour", "Partial collectives in a minute, with late ranks");
  add_option(*command, "--steps", *steps, "N",
             fmt::format("Steps of each rank; {} if not given", kDefaultSteps));
  command->preparse_callback(
      [](std::size_t) { refuse_under_launcher("syncopate tour", "start it once"); });
  command->callback([steps, &exit_code] {
    try {
      // So many steps the straggler's groups may lag behind.
      exit_code = run_tour(steps->empty() ? kDefaultSteps
                                          : int(whole_number("--steps", *steps, 2, tour::kWindow)));
    } catch (const bench::Interrupted& end) {
      exit_code = end.exit_code;
    }
  });

  auto work = std::make_shared<std::string>();
  auto* rank = program.add_subcommand(tour::kRankCommand)->group("");
  rank->add_option("work", *work)->required();
  rank->callback([work] { tour::run_rank(*work); });
}

}  // namespace syncopate::cli
