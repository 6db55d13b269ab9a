// Policies as text: what is written can be read back, and what is not a policy is refused with
// the list of those that are.
#include "syncopate/policy.h"

#include <gtest/gtest.h>

#include <string>

#include "support/refusal.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;

TEST(Policies, AreReadAsTheyAreWritten) {
  for (const Trigger& trigger :
       {all(), first(), majority(), majority(18446744073709551615U), count(1), count(1024)}) {
    EXPECT_EQ(Trigger::parse(to_string(trigger)), trigger) << to_string(trigger);
  }
  for (const LatePolicy& late : {carry(), drop(), drop_older_than(2), drop_older_than(1U << 31)}) {
    EXPECT_EQ(LatePolicy::parse(to_string(late)), late) << to_string(late);
  }
  for (const Grace& value : {no_grace(), grace(1ns), grace(250us), grace(1h), automatic_grace(),
                             automatic_grace(1.0 / 3), automatic_grace(10)}) {
    EXPECT_EQ(Grace::parse(to_string(value)), value) << to_string(value);
  }
}

TEST(Policies, CanBeWrittenByHand) {
  EXPECT_EQ(Trigger::parse("majority:42"), majority(42));
  EXPECT_EQ(Trigger::parse("count:3"), count(3));
  EXPECT_EQ(Grace::parse("2ms"), grace(2ms));
  EXPECT_EQ(Grace::parse("0.5s"), grace(500ms));
  EXPECT_EQ(Grace::parse("100us"), grace(100us));
  EXPECT_EQ(Grace::parse("off"), no_grace());
  EXPECT_EQ(Grace::parse("auto:0.3"), automatic_grace(0.3));
  EXPECT_EQ(LatePolicy::parse("drop-older-than:4"), drop_older_than(4));
}

TEST(Policies, ThatDoNotExistAreRefusedWithTheListOfThoseThatDo) {
  for (const char* text : {"", "All", "any", "majority:", "majority:x", "majority:-1", "count",
                           "count:", "count:2x", "count:99999999999", " first", "first "}) {
    expect_refused(kInvalid,
                   {std::string("\"") + text + "\"", "trigger",
                    "all, first, majority, majority:SEED or count:K"},
                   [&] { Trigger::parse(text); });
  }
  for (const char* text : {"", "keep", "drop-older-than", "drop-older-than:", "drop-older-than:-1",
                           "drop-older-than:two"}) {
    expect_refused(
        kInvalid,
        {std::string("\"") + text + "\"", "late policy", "carry, drop or drop-older-than:R"},
        [&] { LatePolicy::parse(text); });
  }
  for (const char* text : {"", "2", "2 ms", "-1ms", "ms", "1e300s", "nans", "infs",
                           "auto:", "auto:-1", "auto:0", "auto:nan", "2min"}) {
    expect_refused(kInvalid, {std::string("\"") + text + "\"", "grace", "auto:SHARE", "2ms"},
                   [&] { Grace::parse(text); });
  }
}

}  // namespace
}  // namespace syncopate::testing
