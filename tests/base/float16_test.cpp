// The conversions of the 16-bit formats, over all their values, against the definition of
// "nearest, ties to even" and against the vector instructions of every level.
#include "base/float16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernel/dispatch.h"
#include "syncopate/types.h"

namespace syncopate::board {
namespace {

struct Bfloat16Format {
  using Type = bfloat16;
  static constexpr int fraction_bits = 7, bias = 127, top_exponent = 255;
};

struct Float16Format {
  using Type = float16;
  static constexpr int fraction_bits = 10, bias = 15, top_exponent = 31;
};

template <typename Format>
class Conversion : public ::testing::Test {
 protected:
  static constexpr std::uint32_t infinity = Format::top_exponent << Format::fraction_bits;

  static auto from_bits(std::uint32_t bits) {
    typename Format::Type value;
    value.bits = static_cast<std::uint16_t>(bits);
    return value;
  }
  /// What a positive finite pattern, or the one after the last, means by definition.
  static double meaning(std::uint32_t bits) {
    const int exponent = static_cast<int>(bits >> Format::fraction_bits);
    const double fraction = bits & ((1U << Format::fraction_bits) - 1);
    const double hidden = exponent == 0 ? 0 : 1 << Format::fraction_bits;
    return std::ldexp(hidden + fraction,
                      std::max(exponent, 1) - Format::bias - Format::fraction_bits);
  }
};

using Formats = ::testing::Types<Bfloat16Format, Float16Format>;
TYPED_TEST_SUITE(Conversion, Formats);

TYPED_TEST(Conversion, WidensEveryNumberToItsValue) {
  for (std::uint32_t bits = 0; bits < this->infinity; ++bits) {
    const float wide = float(this->from_bits(bits));
    ASSERT_EQ(wide, this->meaning(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(float(this->from_bits(bits | 0x8000))),
              std::bit_cast<std::uint32_t>(wide) | 0x80000000);
  }
  ASSERT_EQ(float(this->from_bits(this->infinity)), std::numeric_limits<float>::infinity());
  for (std::uint32_t bits = this->infinity + 1; bits < 0x8000; ++bits) {
    ASSERT_TRUE(std::isnan(float(this->from_bits(bits))));
  }
}

TYPED_TEST(Conversion, RoundsToNearestAndTiesToEven) {
  using Type = typename TypeParam::Type;
  for (std::uint32_t bits = 0; bits < this->infinity; ++bits) {
    // Overflow begins half-way to the number that would follow the largest.
    const double below = this->meaning(bits);
    const double middle = (below + this->meaning(bits + 1)) / 2;
    ASSERT_EQ(Type(static_cast<float>(below)).bits, bits);
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(tie, middle);
    ASSERT_EQ(Type(tie).bits, bits + bits % 2);
    ASSERT_EQ(Type(std::nextafter(tie, 0.0F)).bits, bits);
    ASSERT_EQ(Type(std::nextafter(tie, std::numeric_limits<float>::infinity())).bits, bits + 1);
    ASSERT_EQ(Type(-tie).bits, Type(tie).bits | 0x8000);
  }
  ASSERT_EQ(Type(std::numeric_limits<float>::max()).bits, this->infinity);
  ASSERT_EQ(Type(std::numeric_limits<float>::infinity()).bits, this->infinity);
}

TYPED_TEST(Conversion, KeepsNaN) {
  using Type = typename TypeParam::Type;
  for (std::uint32_t bits : {0x7f800001U, 0x7fc00000U, 0x7fffffffU, 0xff800001U, 0xffffffffU}) {
    const Type narrow(std::bit_cast<float>(bits));
    ASSERT_TRUE(std::isnan(float(narrow)));
    ASSERT_EQ(narrow.bits >> 15, bits >> 31);
  }
}

TYPED_TEST(Conversion, IsTheSameBitsAtEveryInstructionSet) {
  using Type = typename TypeParam::Type;
  std::vector<Type> values, expected(0x10000), out(0x10000);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) values.push_back(this->from_bits(bits));
  const Term term{values.data(), 1};
  // The scale spreads the products over all ways to round.
  for (const double scale : {0.99999, 1.00001, 1.0 / 3, 0.5, 0.03125, 1e-3, 1e-6, 77.7, 1e30}) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      expected[i] = Type(float(values[i]) * static_cast<float>(scale));
    }
    for (const auto level : detail::supported_levels()) {
      detail::weighted_sum_at(level, data_type<Type>, values.size(), {&term, 1}, scale, out.data(),
                              Store::cached);
      const auto same = [](Type a, Type b) { return a.bits == b.bits; };
      const auto differs = std::mismatch(out.begin(), out.end(), expected.begin(), same).first;
      EXPECT_EQ(differs, out.end()) << detail::to_string(level) << ", pattern "
                                    << differs - out.begin() << " times " << scale;
    }
  }
}

TEST(DataTypes, SayTheirNameAndSize) {
  EXPECT_STREQ(to_string(DataType::float32), "float32");
  EXPECT_STREQ(to_string(DataType::float64), "float64");
  EXPECT_STREQ(to_string(DataType::bfloat16), "bfloat16");
  EXPECT_STREQ(to_string(DataType::float16), "float16");
  EXPECT_EQ(size_of(DataType::float32), sizeof(float));
  EXPECT_EQ(size_of(DataType::float64), sizeof(double));
  EXPECT_EQ(size_of(DataType::bfloat16), sizeof(bfloat16));
  EXPECT_EQ(size_of(DataType::float16), sizeof(float16));
}

}  // namespace
}  // namespace syncopate::board
