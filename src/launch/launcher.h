// Starts the ranks of a job on this machine, looks after them, and returns when the last of them
// has ended. Whatever happens, no process is left behind: not a rank, not what a rank started.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace syncopate::launch {

inline constexpr int kMostRanks = 1024;
inline constexpr double kMostSeconds = 1e9;
/// An exit code above this is the number of a signal, as shells have it.
inline constexpr int kSignalCode = 128;
/// The exit code of a job that took longer than it may.
inline constexpr int kTimeoutCode = 124;

/// What becomes of the ranks' standard output and standard error.
enum class Output {
  prefixed,  ///< whole lines, each with its rank in front: "[ 3] loss 0.25"
  raw,       ///< the ranks write to `out` and `err` themselves, as they like
  captured,  ///< stdout into RankOutcome::output; stderr as with `prefixed`
};

struct LaunchOptions {
  int ranks = 1;                     ///< 1 to kMostRanks
  std::vector<std::string> command;  ///< The program, looked up in PATH, and its arguments.
  /// For every rank, beside what this process has; other than the SYNCOPATE_ ones of the board.
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<double> timeout_seconds;       ///< For the whole job (kTimeoutCode).
  std::optional<double> wait_timeout_seconds;  ///< For each wait in the library, inside the ranks.
  double kill_after_seconds = 5;               ///< Between asking a rank to end and killing it.
  bool survive = false;                        ///< Go on with the others when a rank fails.
  Output output = Output::prefixed;
  int out = 1;  ///< The descriptor for the ranks' standard output.
  int err = 2;  ///< The descriptor for their standard error and for the launcher's own sentences.
};

/// How one rank ended. Neither an exit code nor a signal: it was not started.
struct RankOutcome {
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string output;  ///< What it wrote to stdout, with Output::captured.

  bool succeeded() const { return exit_code == 0; }
  /// The exit code, or 128 + signal as a shell has it.
  int code() const;
  /// "exited with code 7", "was killed by signal 9 (Killed)"
  std::string description() const;
};

struct LaunchResult {
  /// 0 when all went well. Otherwise by what came first: the code of the rank that failed, 128 +
  /// signal when the launcher was told to end, kTimeoutCode after the timeout, 126 or 127 when the
  /// command cannot be executed or found, 141 when `out` is not read any more. With `survive`: 0
  /// if any rank ended with 0, else the code of the first that failed.
  int exit_code = 0;
  std::vector<RankOutcome> ranks;
};

/// Runs the job. SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to the ranks and end the job;
/// SIGUSR1 and SIGUSR2 are just passed on; a SIGINT while the job is ending kills it at once.
/// Rank 0 reads this process's standard input unless that is a terminal; the others read nothing.
/// To be called from the only thread of the process. Children that the process already has are
/// left alone. If this process or the one that it starts for the job is killed, the other ends the
/// ranks and what they had started.
/// Throws Error: invalid_argument for options out of range, environment or out_of_memory when
/// the machine cannot carry the job. Nothing runs then.
LaunchResult launch(const LaunchOptions& options);

/// The command that runs this same executable with `arguments`.
std::vector<std::string> this_program(const std::vector<std::string>& arguments);

}  // namespace syncopate::launch
