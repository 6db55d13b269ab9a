// Whether others need the core of a thread that looks for messages and yields between its looks.
// Other processes may, of which nobody tells: then most of its time goes by in yields. One that
// takes long now and then proves nothing; a virtual machine may just have stood still.
#pragma once

#include "board/host.h"

namespace syncopate::detail {

class Crowding {
 public:
  using Time = board::Time;

  /// A yield that ended at `now`.
  void note_yield(Time took, Time now) {
    watched_ += took;
    if (took > kLong) {
      lost_ += took;
      ++long_ones_;
    }
    if (long_ones_ >= 2 && 2 * lost_ > watched_) {
      until_ = now + kBelievedFor;
      watched_ = kWatched / 2;
      lost_ = long_ones_ = 0;
    } else if (watched_ > kWatched) {
      watched_ /= 2;
      lost_ /= 2;
      long_ones_ /= 2;
    }
  }

  bool crowded(Time now) const { return now < until_; }

 private:
  static constexpr Time kMillisecond = 1'000'000;
  static constexpr Time kLong = kMillisecond / 20;
  static constexpr Time kWatched = 10 * kMillisecond;  ///< The time that counts, more or less.
  static constexpr Time kBelievedFor = 100 * kMillisecond;

  Time watched_ = kWatched / 2;
  Time lost_ = 0;  ///< In long yields.
  Time long_ones_ = 0;
  Time until_ = 0;
};

}  // namespace syncopate::detail
