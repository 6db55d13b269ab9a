// The time that a run has trained: it stands still while the run evaluates and saves.
#pragma once

#include <algorithm>
#include <chrono>

#include "syncopate/policy.h"

namespace syncopate::train {

class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  void go() {
    since_ = Clock::now();
    going_ = true;
  }
  void pause() {
    before_ = elapsed();
    going_ = false;
  }
  Duration elapsed() const { return going_ ? before_ + (Clock::now() - since_) : before_; }
  void resume_from(Duration elapsed) { before_ = elapsed; }

 private:
  Duration before_{0};
  bool going_ = false;
  Clock::time_point since_;
};

inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
/// What is longer than any run, or no number, is as long as thirty years: a clock holds no more.
inline Duration from_seconds(double value) {
  constexpr double kLongest = 1e9;
  const double held = value < kLongest ? std::max(value, -kLongest) : kLongest;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(held));
}

}  // namespace syncopate::train
