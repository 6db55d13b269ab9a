// `syncopate-train`: the commands that need libtorch. Users start it as `syncopate train` and the
// like.
#include "cli/console/program.h"
#include "cli/train/commands.h"

int main(int count, char** arguments) {
  return syncopate::cli::run_program(count, arguments, [](CLI::App& program, int& exit_code) {
    syncopate::cli::add_train(program, exit_code);
    syncopate::cli::add_compare(program, exit_code);
    syncopate::cli::add_workloads(program);
    syncopate::cli::add_rank(program);
  });
}
