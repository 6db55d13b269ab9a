// When the trigger of a round was first seen to hold: what grace is counted from.
#pragma once

#include <cstdint>

#include "board/host.h"
#include "board/shared.h"
#include "board/words.h"

namespace syncopate::board {

class Opening {
 public:
  /// Since when `round` is open; notes `now` if nobody has noted a time for it.
  Time since(RoundNumber round, Time now) {
    // A tag of the round and microseconds, both cut short: a difference of times is all we need.
    const std::uint64_t tag = round << kTimeBits;
    const std::uint64_t microseconds = std::uint64_t(now) / 1000 & kMask;
    std::uint64_t value = word_.load();
    while ((value & ~kMask) != tag) {
      if (word_.replace(value, tag | microseconds)) return now;
    }
    const std::uint64_t ago = (microseconds - (value & kMask)) & kMask;
    // Another rank's look at the clock may be a moment later than ours.
    return ago > kMask / 2 ? now : now - Time(ago) * 1000;
  }

 private:
  static constexpr int kTimeBits = 44;
  static constexpr std::uint64_t kMask = (std::uint64_t{1} << kTimeBits) - 1;
  Shared<std::uint64_t> word_;
};

}  // namespace syncopate::board
