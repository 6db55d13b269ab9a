// Whether others need the core of a thread that looks for messages and yields between its looks.
// Other processes may, of which nobody tells: then a yield gives away a whole slice of time, and a
// sleep, whose end takes the core back, is shorter. But a long yield may also be a virtual machine
// that stood still. So one is believed for a short time, and for longer if others follow soon.
#pragma once

#include <algorithm>

#include "board/host.h"

namespace syncopate::detail {

class Crowding {
 public:
  using Time = board::Time;

  /// A yield that ended at `now`.
  void note_yield(Time took, Time now) {
    if (took < kSlice) return;
    const bool again = until_ > 0 && now - took - until_ < kSoon;
    belief_ = again ? std::min(2 * belief_, kLongest) : kShortest;
    until_ = now + belief_;
  }

  bool crowded(Time now) const { return now < until_; }

 private:
  static constexpr Time kMillisecond = 1'000'000;
  static constexpr Time kSlice = kMillisecond / 2;
  static constexpr Time kSoon = 20 * kMillisecond;  ///< After the last one was believed.
  static constexpr Time kShortest = 5 * kMillisecond;
  static constexpr Time kLongest = 100 * kMillisecond;

  Time belief_ = kShortest;
  Time until_ = 0;
};

}  // namespace syncopate::detail
