// What the programs have in common: finding the command, running it, and turning what went wrong
// into one sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace syncopate::cli {

inline constexpr int kFailed = 1;
inline constexpr int kWrongUse = 2;

/// Thrown to end the program without a word: what there is to say is said elsewhere.
struct Silence {
  int exit_code = kFailed;
};

/// Throws UsageError if mpirun or the like has started this several times: `instead` says what is
/// meant to be started that way.
void refuse_under_launcher(const std::string& command, const std::string& instead);

/// Adds the commands to the program; each sets the exit code when it runs.
using AddCommands = std::function<void(CLI::App& program, int& exit_code)>;

/// Runs the command that the arguments name. Returns the exit code: 1 if it failed, 2 if what was
/// asked for is refused. A rank that mpirun or the like has started says which it is.
int run_program(int count, char** arguments, const AddCommands& add);

}  // namespace syncopate::cli
