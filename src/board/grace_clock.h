// When the trigger of a round was first seen to hold: what grace is counted from.
#pragma once

#include <cstdint>

#include "board/platform.h"
#include "board/shared.h"
#include "board/words.h"

namespace syncopate::board {

class GraceClock {
 public:
  /// Since when `round` is open; notes `now` if no rank has noted a time for it.
  Time since(RoundNumber round, Time now) {
    // A tag of the round and a time, both cut short: a difference of times is all we need. The
    // tag is odd, so that an untouched word is no round's.
    const std::uint64_t tag = (round << 1 | 1) << kTimeBits;
    const std::uint64_t ticks = std::uint64_t(now) / kTick & kMask;
    std::uint64_t value = word_.load();
    while ((value & ~kMask) != tag) {
      if (word_.replace(value, tag | ticks)) return now;
    }
    const std::uint64_t ago = (ticks - (value & kMask)) & kMask;
    // Another rank's look at the clock may be a moment later than ours.
    return ago > kMask / 2 ? now : now - Time(ago * kTick);
  }

 private:
  static constexpr int kTimeBits = 32;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kTimeBits) - 1;
  static constexpr std::uint64_t kTick = 4'000;  ///< Four microseconds: 4.7 hours in 32 bits.
  Shared<std::uint64_t> word_;
};

}  // namespace syncopate::board
