// `syncopate run`: any program as ranks on this machine.
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/console/program.h"
#include "cli/run_options.h"
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
even one that a rank started in the background or in a session of its own, and not even when this
program is killed with SIGKILL.

Exit codes: 2 wrong use, 124 --timeout, 126 or 127 the command cannot be executed or found,
128 + signal when interrupted, otherwise the ranks'.)";

}  // namespace

void add_run(CLI::App& program, const std::vector<std::string>& command, int& exit_code) {
  auto* run = program.add_subcommand("run", "Start any program as ranks on this machine");
  auto typed = std::make_shared<TypedRun>();
  add_run_options(*run, *typed);
  run->footer(kHowRunWorks);
  run->allow_extras();
  run->callback([run, typed, &command, &exit_code] {
    refuse_rest(run->remaining());
    refuse_under_launcher("syncopate run", "start the program with it directly");
    exit_code = launch::launch(checked_run(*typed, command)).exit_code;
  });
}

}  // namespace syncopate::cli
