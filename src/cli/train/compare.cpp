// `syncopate compare`: several strategies on the same work, one after another.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/printable.h"
#include "base/text.h"
#include "cli/console/arguments.h"
#include "cli/console/machine.h"
#include "cli/console/option.h"
#include "cli/console/phrases.h"
#include "cli/console/program.h"
#include "cli/train/commands.h"
#include "cli/train/comparison.h"
#include "cli/train/settings.h"
#include "syncopate/error.h"
#include "train/training_job.h"
#include "train/workload.h"

namespace syncopate::cli {
namespace {

constexpr const char* kHowCompareWorks = R"(Example:
  syncopate compare --workload fashion --strategies sync,eager-majority,wagma:4:10 -n 8 \
                    --imbalance shift:5..40ms --pace off --repeat 3

All strategies meet the same samples and the same delays (--imbalance): seeds depend on the
repetition alone.

time       of training, without evaluating and saving; speed-up against sync
accuracy   at the end; ± half of what lies between the best and the worst run
to target  time until an evaluation reaches the target: what sync ended with under the same seed, or
           --target (without both, the workload's own); (2/3): two of three runs reached it
of sync    the same, as a share of all the time that sync takes
waiting    share of their time that ranks stood still
of N       ranks with something in a round, on average
stale      the most rounds that lay between a gradient's model and the round that took it
of ideal   speed against that of ranks that never wait, each at its own rate)";

constexpr long kMostRuns = 1000;

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) {
    std::erase(part, ' ');
    parts.push_back(part);
  }
  return parts;
}

struct Wanted {
  std::vector<train::Config> configs;  ///< One per strategy.
  int repeat = 1;
  std::optional<double> target;
  std::string json;
};

void show(const Comparison& comparison, const Wanted& wanted) {
  const train::Config& first = wanted.configs.front();
  const bool regression = train::workload(first.workload).regression;
  fmt::print("\n{}\n{}\n", table(comparison, regression, first.ranks),
             conclusion(comparison, regression));
  if (!wanted.json.empty()) {
    std::ofstream file(wanted.json);
    for (const auto& line : to_lines(comparison, first)) file << line.dump() << "\n";
    file.close();
    if (!file) {
      throw Error(ErrorCode::environment, fmt::format("{} cannot be written", wanted.json),
                  "Choose another file with --json");
    }
  }
}

/// Of a run that did not come to its end, or that lost ranks on the way.
void tell_of_losses(const train::Finished& finished, const std::string& strategy, bool ended,
                    bool goes_on) {
  const bool died = finished.result && !finished.result->dead.empty();
  const std::string who = died ? base::names_of(finished.result->dead) + " died" : "";
  if (!ended) {
    fmt::print(stderr, "syncopate: {} did not come to its end{}; what it wrote is in {}\n",
               strategy, died ? ": " + who : "", base::printable(finished.directory.string()));
  } else if (died) {
    fmt::print(stderr, "syncopate: in {} {} and the others went on{}\n", strategy, who,
               goes_on ? "" : "; what follows would have fewer ranks, and is left out");
  }
}

int compare(JobRunner& runner, const Wanted& wanted, const train::JobOptions& options) {
  const train::Config& first = wanted.configs.front();
  const bool regression = train::workload(first.workload).regression;
  if (runner.speaks()) {
    fmt::print("{}\n{}; {} of each strategy\n", base::printable(describe(first, runner)),
               machine_description(), counted(wanted.repeat, "run"));
    std::fflush(stdout);
  }
  std::vector<std::pair<std::string, std::vector<train::Result>>> runs;
  for (const auto& config : wanted.configs) runs.emplace_back(config.strategy, 0);
  const auto conclude = [&] {
    runner.first(
        [&] { show(put_together(runs, wanted.target, first.target, regression), wanted); });
  };
  // One run of each, then the next of each: what changes on the machine meets them all.
  for (int round = 0; round < wanted.repeat; ++round) {
    for (std::size_t i = 0; i < wanted.configs.size(); ++i) {
      train::Config config = wanted.configs[i];
      config.seed += std::uint64_t(round);
      train::JobOptions labeled = options;
      labeled.label =
          fmt::format("[{}/{}] {}", std::size_t(round) * wanted.configs.size() + i + 1,
                      wanted.configs.size() * std::size_t(wanted.repeat), config.strategy);
      const train::Finished finished = runner.run(config, labeled);
      if (runner.speaks() && isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K");
      const bool died = finished.result && !finished.result->dead.empty();
      const bool ended = finished.exit_code == 0 && finished.result;
      if (ended) runs[i].second.push_back(*finished.result);
      // Here every run has ranks of its own; a launcher's are gone for all that follow.
      const bool last = round + 1 == wanted.repeat && i + 1 == wanted.configs.size();
      const bool goes_on = ended && (!died || !runner.launcher() || last);
      if (runner.speaks()) tell_of_losses(finished, config.strategy, ended, goes_on);
      if (!goes_on) {
        std::erase_if(runs, [](const auto& each) { return each.second.empty(); });
        if (!runs.empty()) conclude();  // What did come to its end is worth seeing.
        return ended || finished.exit_code == 0 ? kFailed : finished.exit_code;
      }
    }
  }
  conclude();
  const auto diverged = [](const train::Result& run) { return run.diverged; };
  const bool nothing_learned = std::ranges::all_of(
      runs, [&](const auto& each) { return std::ranges::all_of(each.second, diverged); });
  return nothing_learned ? kFailed : 0;
}

}  // namespace

void add_compare(CLI::App& program, int& exit_code) {
  auto* command =
      program.add_subcommand("compare", "Compare strategies side by side on the same work");
  struct Typed {
    TypedSettings settings;
    std::string strategies = "sync,eager-solo,eager-majority,wagma";
    std::optional<std::string> repeat;
    std::string json;
  };
  auto typed = std::make_shared<Typed>();
  add_option(*command, "-s,--strategies", typed->strategies, "LIST",
             "Separated by commas; " + typed->strategies + " if not given");
  add_option(*command, "--repeat", typed->repeat, "N",
             "Runs of each strategy, each with another seed; 1 if not given");
  add_option(*command, "--json", typed->json, "FILE", "Write a line of JSON for each strategy");
  add_settings(*command, typed->settings);
  command->footer(kHowCompareWorks);
  command->callback([typed, &exit_code] {
    JobRunner runner;
    Wanted wanted{.json = typed->json};
    runner.first([&] {
      read_job_options(typed->settings);
      if (split(typed->strategies).empty()) {
        throw UsageError("--strategies is empty; name at least one");
      }
      if (typed->repeat) whole_number("--repeat", *typed->repeat, 1, kMostRuns);
      if (!typed->json.empty() && !std::ofstream(typed->json, std::ios::app)) {
        throw UsageError(fmt::format("--json: {} cannot be written", typed->json));
      }
    });
    for (const std::string& strategy : split(typed->strategies)) {
      wanted.configs.push_back(runner.decide([&] {
        train::Config config = read_settings(typed->settings, strategy, runner);
        config.checkpoints = false;
        return config;
      }));
      runner.check(wanted.configs.back());
    }
    if (typed->repeat) wanted.repeat = int(whole_number("--repeat", *typed->repeat, 1, kMostRuns));
    if (typed->settings.target) wanted.target = wanted.configs.front().target;
    exit_code = compare(runner, wanted, read_job_options(typed->settings));
  });
}

}  // namespace syncopate::cli
