// float32 to and from the two 16-bit formats, on bit patterns: the reference that every vector
// instruction used in the kernel agrees with. Integer arithmetic only, so that no rounding or
// flush-to-zero mode of the processor changes a result.
#pragma once

#include <bit>
#include <cstdint>

namespace syncopate::board {

inline float widen_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// To nearest, ties to even. A NaN keeps the upper bits of its payload and becomes quiet: rounding
/// it like a number could carry into infinity.
inline std::uint16_t narrow_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// A signalling NaN becomes quiet, as with the processors' own conversions.
inline float widen_float16(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  std::uint32_t magnitude = 0;
  if (exponent == 0x1f) {
    magnitude = 0x7f800000 | fraction << 13 | (fraction != 0 ? 0x400000 : 0);
  } else if (exponent != 0) {
    magnitude = (exponent + 112) << 23 | fraction << 13;
  } else if (fraction != 0) {
    // Subnormal in 16 bits, normal in 32: the leading one becomes the hidden bit.
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(fraction)) - 21;
    magnitude = (113 - shift) << 23 | (fraction << shift & 0x3ff) << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

/// To nearest, ties to even; from 65520 on to infinity. A NaN keeps the upper bits of its payload
/// and becomes quiet.
inline std::uint16_t narrow_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7fffffff;
  constexpr std::uint32_t infinity = 0x7f800000, first_overflow = 0x477ff000;
  constexpr std::uint32_t smallest_normal = 0x38800000, half_of_smallest = 0x33000000;
  std::uint32_t result = 0;
  if (magnitude > infinity) {
    result = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= first_overflow) {
    result = 0x7c00;
  } else if (magnitude >= smallest_normal) {
    result = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  } else if (magnitude > half_of_smallest) {
    const std::uint32_t significand = (magnitude & 0x7fffff) | 0x800000;
    const std::uint32_t shift = 126 - (magnitude >> 23);
    const std::uint32_t below_half = (1U << (shift - 1)) - 1;
    result = (significand + below_half + (significand >> shift & 1)) >> shift;
  }
  return static_cast<std::uint16_t>(sign | result);
}

}  // namespace syncopate::board
