// Numbers are read whole or not at all, and ranks are named in one way.
#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace syncopate::base {
namespace {

TEST(Text, ANumberIsAllOfATextOrNone) {
  EXPECT_EQ(number<int>("-12"), -12);
  EXPECT_EQ(number<double>("1e3"), 1000);
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "x", "0x10", "1,5", "99999999999"}) {
    EXPECT_FALSE(number<int>(text)) << text;
  }
  EXPECT_FALSE(number<std::uint64_t>("-1"));
  EXPECT_FALSE(number<double>("1,5")) << "whatever the locale is";
}

TEST(Text, ANumberMayHaveToLieBetweenOthers) {
  EXPECT_EQ(number<int>("3", 3, 5), 3);
  EXPECT_EQ(number<int>("5", 3, 5), 5);
  EXPECT_FALSE(number<int>("2", 3, 5));
  EXPECT_FALSE(number<int>("6", 3, 5));
  EXPECT_FALSE(number<double>("nan", 0, 1));
}

TEST(Text, ALeadingNumberLeavesTheRest) {
  const auto read = leading_number<int>("12K");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->value, 12);
  EXPECT_EQ(read->rest, "K");
  EXPECT_EQ(leading_number<std::uint64_t>("ff-100", 16)->value, 255U);
  EXPECT_FALSE(leading_number<int>("K12"));
}

TEST(Text, RanksAreNamedInTheirOrder) {
  EXPECT_EQ(names_of(std::vector<int>{}), "no rank");
  EXPECT_EQ(names_of(std::vector{3}), "rank 3");
  EXPECT_EQ(names_of(std::vector{3, 1}), "ranks 1 and 3");
  EXPECT_EQ(names_of(std::vector{0, 70, 1}), "ranks 0, 1 and 70");
}

}  // namespace
}  // namespace syncopate::base
