// While it lives, the signals the launcher cares about arrive as readable bytes on a descriptor
// instead of interrupting it, whichever thread of the process the kernel hands them to. A signal
// that was ignored when the launcher started (nohup, a shell's background job) stays ignored.
// Everything is put back at the end, and in each rank. There is one at a time in a process.
#pragma once

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "launch/pipe.h"

namespace syncopate::launch {

class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  int descriptor() const { return pipe_.read.number(); }
  /// The next signal that has arrived, without waiting.
  std::optional<int> next() const;

  /// Gives the calling process the signal state the launcher was started with. Safe after fork.
  void restore() const;

 private:
  void replace(int signal, void (*handler)(int));

  Pipe pipe_;
  sigset_t previous_mask_{};
  std::vector<std::pair<int, struct sigaction>> previous_;
};

/// Keeps signals away from this thread. Around a fork: one that hits the child before it has put
/// its own signals in order must not be taken for the launcher's.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t previous_{};
};

}  // namespace syncopate::launch
