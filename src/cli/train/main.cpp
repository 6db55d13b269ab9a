// `syncopate-train`: the commands that need libtorch. Users start it as `syncopate train` and the
// like.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "cli/console/program.h"
#include "cli/train/commands.h"
#include "cli/train/job_runner.h"

namespace {

/// The launcher ends all ranks when one has failed. Those that fail for the same reason get the
/// time to say so.
constexpr auto kForOthersToSpeak = std::chrono::seconds(1);

}  // namespace

int main(int count, char** arguments) {
  using namespace syncopate;
  std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error of its writer (ulimit -f).
  const int code = cli::run_program(count, arguments, [](CLI::App& program, int& exit_code) {
    cli::add_train(program, exit_code);
    cli::add_compare(program, exit_code);
    cli::add_workloads(program);
    cli::add_rank(program);
  });
  if (!cli::JobRunner::fell_apart()) return code;
  std::fflush(nullptr);
  if (code != 0) std::this_thread::sleep_for(kForOthersToSpeak);
  std::_Exit(code);  // MPI would wait at the exit for ranks that are not there.
}
