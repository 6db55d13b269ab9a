// A small, fast source of random numbers whose sequence is the same everywhere.
#pragma once

#include <cstdint>

#include "round/trigger.h"

namespace syncopate::testing {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(round::mix(seed, 0)) {}

  std::uint64_t next() {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  int below(int bound) { return round::below(bound, next()); }
  int between(int least, int most) { return least + below(most - least + 1); }
  bool one_in(int times) { return below(times) == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace syncopate::testing
