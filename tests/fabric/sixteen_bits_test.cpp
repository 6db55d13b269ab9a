// The sums of 16-bit values on the fabric have the bits that the board's kernels would give.
#include "fabric/mpi/sixteen_bits.h"

#include <gtest/gtest.h>

#include <vector>

#include "board/kernel_convert.h"

namespace syncopate::testing {
namespace {

using Widen = float (*)(std::uint16_t);
using Narrow = std::uint16_t (*)(float);
using Add = void (*)(const std::uint16_t*, std::uint16_t*, std::size_t);

constexpr std::uint32_t kPatterns = 1 << 16;

/// Every pattern plus each of some others, the special ones among them.
void check(Widen widen, Narrow narrow, Add add) {
  std::vector<std::uint32_t> others = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x3c00,
                                       0x3f80, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe55,
                                       0x7f7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0x0080};
  for (std::uint32_t other = 77; other < kPatterns; other += 997) others.push_back(other);
  std::vector<std::uint16_t> sum(kPatterns), addend(kPatterns);
  for (const std::uint32_t other : others) {
    for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
      sum[bits] = static_cast<std::uint16_t>(bits);
      addend[bits] = static_cast<std::uint16_t>(other);
    }
    add(addend.data(), sum.data(), kPatterns);
    for (std::uint32_t bits = 0; bits < kPatterns; ++bits) {
      const float first = widen(static_cast<std::uint16_t>(bits));
      const float second = widen(static_cast<std::uint16_t>(other));
      // Which of two payloads survives is the compiler's choice of operands.
      if (first != first && second != second) continue;
      ASSERT_EQ(sum[bits], narrow(first + second)) << std::hex << bits << " + " << other;
    }
  }
}

TEST(SixteenBits, Bfloat16SumsAreThoseOfTheBoard) {
  check(board::widen_bfloat16, board::narrow_bfloat16, fabric::mpi::add_bfloat16);
}

TEST(SixteenBits, Float16SumsAreThoseOfTheBoard) {
  check(board::widen_float16, board::narrow_float16, fabric::mpi::add_float16);
}

}  // namespace
}  // namespace syncopate::testing
