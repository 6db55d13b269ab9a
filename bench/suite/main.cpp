// `syncopate-bench`: the commands that measure. Users start it as `syncopate bench` and
// `syncopate tour`.
#include <csignal>

#include "bench/suite/commands.h"
#include "cli/console/program.h"

int main(int count, char** arguments) {
  using namespace syncopate;
  std::signal(SIGXFSZ, SIG_IGN);  // A file that may not grow is an error of its writer (ulimit -f).
  return cli::run_program(count, arguments, [](CLI::App& program, int& exit_code) {
    cli::add_bench(program, exit_code);
    cli::add_tour(program, exit_code);
  });
}
