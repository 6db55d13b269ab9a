// Random numbers without a state: a function of a seed, a stream and a number.
#pragma once

#include <cmath>
#include <cstdint>

#include "round/trigger.h"

namespace syncopate::train {

using round::below;
using round::mix;

/// From 64 random bits: mean 0, variance 1, and a bell from -3.5 to 3.5. The sum of four evenly
/// distributed numbers is near enough to a normal one, and costs no logarithm.
inline float bell(std::uint64_t random) {
  constexpr float kMean = 2.F * 65535.F;
  constexpr float kScale = 1.F / 37837.3F;  // 65536 * sqrt(4 / 12)
  const auto sum =
      (random & 0xffff) + (random >> 16 & 0xffff) + (random >> 32 & 0xffff) + (random >> 48);
  return (float(sum) - kMean) * kScale;
}

}  // namespace syncopate::train
