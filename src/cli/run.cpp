// `syncopate run`: any program as ranks on this machine.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/arguments.h"
#include "cli/console/program.h"
#include "launch/launcher.h"

namespace syncopate::cli {

namespace {

constexpr const char* kHowRunWorks = R"(Use: syncopate run -n N [OPTIONS] -- COMMAND [ARGUMENT...]

Example:
  syncopate run -n 8 -- ./my_program --epochs 3

Everything after -- is the command, untouched. Each rank finds its place in SYNCOPATE_RANK,
SYNCOPATE_RANKS and SYNCOPATE_BOARD. Rank 0 reads the standard input unless that is a terminal;
the others read nothing.

When a rank fails, the others are ended and its exit code is returned (128 + signal if it was
killed). SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to all ranks and end the job; a second
SIGINT kills it at once. SIGUSR1 and SIGUSR2 are just passed on. No process is left behind, not
even one that a rank started in the background.

Exit codes: 2 wrong use, 124 --timeout, 126 or 127 the command cannot be executed or found,
128 + signal when interrupted, otherwise the ranks'.)";

/// What was typed, before it is checked.
struct Typed {
  std::optional<std::string> ranks;
  std::optional<std::string> timeout;
  std::optional<std::string> wait_timeout;
  std::optional<std::string> kill_after;
  bool survive = false;
  bool no_prefix = false;
};

/// Arguments before `--` that are not options of ours.
void refuse_rest(const std::vector<std::string>& rest) {
  if (rest.empty()) return;
  if (rest[0].starts_with("-")) {
    throw UsageError(fmt::format(
        "there is no option '{}'; 'syncopate run --help' lists those there are", rest[0]));
  }
  throw UsageError(fmt::format("the command must stand after --, as in: syncopate run -n 4 -- {}",
                               fmt::join(rest, " ")));
}

launch::LaunchOptions checked(const Typed& typed, const std::vector<std::string>& command) {
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

}  // namespace

void add_run(CLI::App& program, const std::vector<std::string>& command, int& exit_code) {
  auto* run = program.add_subcommand("run", "Start any program as ranks on this machine");
  auto typed = std::make_shared<Typed>();
  run->add_option("-n,--ranks", typed->ranks, "How many ranks to start, from 1 to 1024")
      ->type_name("N");
  run->add_option("--timeout", typed->timeout, "End the job after this many seconds, with code 124")
      ->type_name("S");
  run->add_option("--wait-timeout", typed->wait_timeout,
                  "Let no wait inside the library last longer than this (SYNCOPATE_TIMEOUT)")
      ->type_name("S");
  run->add_option("--kill-after", typed->kill_after,
                  "Kill ranks that have not ended this long after they were asked to; 5 if not "
                  "given")
      ->type_name("S");
  run->add_flag("--survive", typed->survive,
                "Go on with the others when a rank fails; code 0 if any rank ends with 0");
  run->add_flag("--no-prefix", typed->no_prefix,
                "Let the ranks write to the terminal themselves, without [rank] before each line");
  run->footer(kHowRunWorks);
  run->allow_extras();
  run->callback([run, typed, &command, &exit_code] {
    refuse_rest(run->remaining());
    refuse_under_launcher("syncopate run", "start the program with it directly");
    exit_code = launch::launch(checked(*typed, command)).exit_code;
  });
}

}  // namespace syncopate::cli
