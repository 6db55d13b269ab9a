#include "fabric/mpi/sixteen_bits.h"

#include <bit>

namespace syncopate::fabric::mpi {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000, kMagnitude = 0x7fffffff;

/// `yes` where `mask` is all ones, `no` where it is zero.
inline std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

inline float widen_bfloat16(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

inline std::uint32_t narrow_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return select((bits & kMagnitude) > kInfinity, bits >> 16 | 0x40, rounded);
}

inline float widen_float16(std::uint32_t bits) {
  const std::uint32_t shifted = (bits & 0x7fff) << 13;
  const std::uint32_t fraction = bits & 0x3ff;
  const std::uint32_t normal = shifted + (112U << 23);
  // Below the normal numbers the fraction counts steps of 2^-24: exact as a product, and nothing
  // subnormal in float32 takes part.
  const auto small = std::bit_cast<std::uint32_t>(
      static_cast<float>(static_cast<std::int32_t>(fraction)) * 0x1p-24F);
  const std::uint32_t quiet = select(fraction != 0, 0x400000, 0);
  const std::uint32_t special = kInfinity | shifted | quiet;
  const std::uint32_t finite = select((bits & 0x7c00) == 0, small, normal);
  const std::uint32_t magnitude = select((bits & 0x7c00) == 0x7c00, special, finite);
  return std::bit_cast<float>((bits & 0x8000) << 16 | magnitude);
}

inline std::uint32_t narrow_float16(float value) {
  constexpr std::uint32_t first_overflow = 0x477ff000, smallest_normal = 0x38800000;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::uint32_t normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
  // From 0.5 to 1 neighbours in float32 are 2^-24 apart, as the small numbers in float16 are: the
  // sum rounds as it should.
  const std::uint32_t small_magnitude = select(magnitude < smallest_normal, magnitude, 0);
  const std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(small_magnitude) + 0.5F) - 0x3f000000;
  const std::uint32_t finite = select(magnitude < smallest_normal, small, normal);
  const std::uint32_t number = select(magnitude >= first_overflow, 0x7c00, finite);
  const std::uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
  return (bits >> 16 & 0x8000) | select(magnitude > kInfinity, nan, number);
}

}  // namespace

void add_bfloat16(const std::uint16_t* __restrict other, std::uint16_t* __restrict sum,
                  std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    sum[i] = static_cast<std::uint16_t>(
        narrow_bfloat16(widen_bfloat16(sum[i]) + widen_bfloat16(other[i])));
  }
}

void add_float16(const std::uint16_t* __restrict other, std::uint16_t* __restrict sum,
                 std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    sum[i] =
        static_cast<std::uint16_t>(narrow_float16(widen_float16(sum[i]) + widen_float16(other[i])));
  }
}

}  // namespace syncopate::fabric::mpi
