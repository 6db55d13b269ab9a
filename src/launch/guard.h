// A tiny process that outlives a launcher that is killed with SIGKILL, and then kills the process
// groups of its ranks. The kernel ends the ranks themselves at that moment, but not the processes
// they have started. On any other end of the launcher it goes without doing anything.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <span>

#include "launch/pipe.h"

namespace syncopate::launch {

class Guard {
 public:
  explicit Guard(int ranks);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// The rank's process group is to be killed if the launcher is.
  void watch(int rank, pid_t group) { groups_[std::size_t(rank)] = group; }
  /// To be called before the rank's process is waited for: its number may be used again then.
  void forget(int rank) { groups_[std::size_t(rank)] = 0; }
  /// A child of the launcher has ended and was waited for: if it is the guard, it is not again.
  void ended(pid_t process) {
    if (process == process_) process_ = -1;
  }

 private:
  // Shared with the guarding process, which reads it after the launcher has ended: the end of the
  // pipe orders it.
  std::span<std::atomic<pid_t>> groups_;
  Descriptor lifeline_;  // the launcher's end of a pipe that closes when the launcher ends
  pid_t process_ = -1;
};

}  // namespace syncopate::launch
