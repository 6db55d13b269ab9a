// The commands of the `syncopate` program. Each is one file, which adds its subcommand to the
// program with a callback that does the work and sets the exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace syncopate::cli {

/// `command` is what stood after `--` on the command line. It is filled before any callback runs.
void add_run(CLI::App& program, const std::vector<std::string>& command, int& exit_code);

/// The strategies there are, with their parameters.
void add_strategies(CLI::App& program);

}  // namespace syncopate::cli
