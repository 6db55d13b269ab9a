// The time that a run has trained: it stands still while the run evaluates and saves.
#pragma once

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
inline Duration from_seconds(double value) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value));
}

}  // namespace syncopate::train
