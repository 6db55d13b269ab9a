#include "cli/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/arguments.h"
#include "cli/console/option.h"

namespace syncopate::cli {

void add_run_options(CLI::App& command, TypedRun& typed) {
  add_option(command, "-n,--ranks", typed.ranks, "N", "How many ranks to start, from 1 to 1024");
  add_option(command, "--timeout", typed.timeout, "S",
             "End the job after this many seconds, with code 124");
  add_option(command, "--wait-timeout", typed.wait_timeout, "S",
             "Let no wait inside the library last longer than this (SYNCOPATE_TIMEOUT)");
  add_option(command, "--kill-after", typed.kill_after, "S",
             "Kill ranks that were asked to end and have not after so long; 5 if not "
             "given");
  command.add_flag("--survive", typed.survive,
                   "Go on with the others when a rank fails; code 0 if any rank ends with 0");
  command.add_flag(
      "--no-prefix", typed.no_prefix,
      "Let the ranks write to the terminal themselves, without [rank] before each line");
}

void refuse_rest(const std::vector<std::string>& rest) {
  if (rest.empty()) return;
  if (rest[0].starts_with("-")) {
    throw UsageError(fmt::format(
        "there is no option '{}'; 'syncopate run --help' lists those there are", rest[0]));
  }
  throw UsageError(fmt::format("the command must stand after --, as in: syncopate run -n 4 -- {}",
                               fmt::join(rest, " ")));
}

launch::LaunchOptions checked_run(const TypedRun& typed, const std::vector<std::string>& command) {
  launch::LaunchOptions options;
  if (!typed.ranks) {
    throw UsageError(fmt::format("-n is missing: say how many ranks to start, from 1 to {}",
                                 launch::kMostRanks));
  }
  options.ranks = int(whole_number("-n", *typed.ranks, 1, launch::kMostRanks));
  if (typed.timeout)
    options.timeout_seconds = seconds("--timeout", *typed.timeout, launch::kMostSeconds);
  if (typed.wait_timeout) {
    options.wait_timeout_seconds =
        seconds("--wait-timeout", *typed.wait_timeout, launch::kMostSeconds);
  }
  if (typed.kill_after) {
    options.kill_after_seconds =
        seconds("--kill-after", *typed.kill_after, launch::kMostSeconds, true);
  }
  if (command.empty() || command[0].empty()) {
    throw UsageError(
        "there is no command to start; put it after --, as in: syncopate run -n 4 -- python "
        "train.py");
  }
  options.command = command;
  options.survive = typed.survive;
  if (typed.no_prefix) options.output = launch::Output::raw;
  return options;
}

}  // namespace syncopate::cli
