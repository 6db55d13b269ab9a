// What a job needs of the kernel: settings of this process for its duration, the start of one
// process, and the children this process has.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "launch/signals.h"

namespace syncopate::launch {

/// A killed process that is not gone by then hangs in the kernel, and waiting does not help.
inline constexpr auto kKillPatience = std::chrono::seconds(10);

/// While it lives, every process below this one whose parent has ended becomes a child of this one.
class ReaperScope {
 public:
  ReaperScope();
  ~ReaperScope();
  ReaperScope(const ReaperScope&) = delete;
  ReaperScope& operator=(const ReaperScope&) = delete;

 private:
  int was_reaper_ = 0;
};

/// While it lives, this process may have as many open files as are allowed.
class OpenFilesScope {
 public:
  OpenFilesScope();
  ~OpenFilesScope();
  OpenFilesScope(const OpenFilesScope&) = delete;
  OpenFilesScope& operator=(const OpenFilesScope&) = delete;

  /// The limit as it was, for the ranks.
  const rlimit& before() const { return before_; }

 private:
  rlimit before_{};
};

/// Everything exec needs, laid out before fork: between fork and exec nothing may be allocated.
class ProgramImage {
 public:
  /// `variables` are added to this process's environment, or replace what it has.
  ProgramImage(std::vector<std::string> command,
               const std::vector<std::pair<std::string, std::string>>& variables);
  ProgramImage(const ProgramImage&) = delete;
  ProgramImage& operator=(const ProgramImage&) = delete;

  char* const* arguments() const { return argument_pointers_.data(); }
  char* const* environment() const { return environment_pointers_.data(); }

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::vector<char*> argument_pointers_;
  std::vector<char*> environment_pointers_;
};

struct StandardStreams {
  int in;
  int out;
  int err;
};

struct Started {
  pid_t process = -1;
  int fork_error = 0;  ///< errno of a failed fork, or 0
  int exec_error = 0;  ///< errno of a failed exec, or 0; the child is then gone already
};

/// Starts the program in a process group of its own, with the signal state and the limit of open
/// files given, and returns when it has been executed or could not be. The child dies with the
/// calling thread, however that ends.
Started start_process(const ProgramImage& image, const StandardStreams& streams,
                      const SignalScope& signals, const rlimit& open_files);

/// The children of this process, those that have ended and were not waited for included.
std::vector<pid_t> children();

}  // namespace syncopate::launch
