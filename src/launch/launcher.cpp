#include "launch/launcher.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <system_error>

#include "launch/apart.h"
#include "syncopate/error.h"

namespace syncopate::launch {

namespace {

void check_seconds(const char* name, double seconds, bool zero_allowed) {
  if (seconds > 0 && seconds <= kMostSeconds) return;
  if (zero_allowed && seconds == 0) return;
  throw Error(ErrorCode::invalid_argument, fmt::format("{} is {}", name, seconds),
              fmt::format("Give seconds, {} and up to {:.0f}.",
                          zero_allowed ? "not below 0" : "above 0", kMostSeconds));
}

void check(const LaunchOptions& options) {
  if (options.ranks < 1 || options.ranks > kMostRanks) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a job of {} ranks was asked for", options.ranks),
                fmt::format("Start between 1 and {} ranks.", kMostRanks));
  }
  if (options.command.empty() || options.command[0].empty()) {
    throw Error(ErrorCode::invalid_argument, "there is no command to start",
                "Name the program that each rank runs.");
  }
  if (options.timeout_seconds) check_seconds("the timeout", *options.timeout_seconds, false);
  if (options.wait_timeout_seconds)
    check_seconds("the timeout of waits", *options.wait_timeout_seconds, false);
  check_seconds("the time before killing", options.kill_after_seconds, true);
}

}  // namespace

int RankOutcome::code() const { return signal ? kSignalCode + *signal : exit_code.value_or(0); }

std::string RankOutcome::description() const {
  if (signal) {
    const char* name = ::sigdescr_np(*signal);
    return fmt::format("was killed by signal {} ({})", *signal, name ? name : "real-time");
  }
  if (exit_code) return fmt::format("exited with code {}", *exit_code);
  return "was not started";
}

LaunchResult launch(const LaunchOptions& options) {
  check(options);
  try {
    return run_apart(options);
  } catch (const std::system_error& failure) {
    throw Error(ErrorCode::environment,
                fmt::format("the job cannot be started: {}", failure.what()),
                "Allow more open files and processes (ulimit -n, ulimit -u).");
  }
}

std::vector<std::string> this_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace syncopate::launch
