// While it lives, the signals the launcher cares about arrive as readable bytes on a descriptor
// instead of interrupting it. A signal that was ignored when the launcher started (nohup, a
// shell's background job) stays ignored. Everything is put back at the end, and in each rank.
#pragma once

#include <csignal>
#include <optional>

#include "launch/descriptor.h"

namespace syncopate::launch {

class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  int descriptor() const { return descriptor_.number(); }
  /// The next signal that has arrived, without waiting.
  std::optional<int> next() const;

  /// Gives the calling process the signal state the launcher was started with. Safe after fork.
  void restore() const;

 private:
  Descriptor descriptor_;
  sigset_t previous_mask_{};
  struct sigaction previous_child_ {};
  struct sigaction previous_pipe_ {};
};

}  // namespace syncopate::launch
