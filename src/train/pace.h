// Makes a step last as long as it is due to, by sleeping what is left of it: ranks that share
// cores then take the time that they would take on devices of their own, or that an imbalance
// gives them. It never spins, because the core belongs to another rank meanwhile.
#pragma once

#include <atomic>
#include <chrono>

#include "syncopate/policy.h"

namespace syncopate::train {

/// A clock that can be slept on. Tests have one of their own.
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;
  virtual Time now() = 0;
  /// May return early, as after a signal.
  virtual void sleep_until(Time time) = 0;
};

/// The machine's.
class SteadyClock : public Clock {
 public:
  Time now() override;
  void sleep_until(Time time) override;
};

class Pacer {
 public:
  /// Once `stop` is set, by a signal handler for example, nothing sleeps any more. Both must
  /// outlive the pacer.
  Pacer(Clock& clock, const std::atomic<bool>& stop);

  /// A step begins now. The first begins when the pacer is made, unless this is called.
  void begin();
  /// Sleeps until the step has lasted `due`; returns at once if it already has.
  void finish(Duration due) { finish_part(1, 1, due); }
  /// The same for a step in equal parts, such as micro-batches: sleeps until as much of `due`
  /// has passed as falls to the first `part` of `parts`.
  void finish_part(int part, int parts, Duration due);

 private:
  Clock& clock_;
  const std::atomic<bool>& stop_;
  Clock::Time begun_;
};

}  // namespace syncopate::train
