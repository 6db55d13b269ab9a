// Other machines are asked for signs of life only while somebody waits, and given up before that
// wait times out, but not before they could answer.
#include <gtest/gtest.h>

#include "agent/heartbeat.h"

namespace syncopate::detail {
namespace {

using Ask = Heartbeat::Ask;
using Time = Heartbeat::Time;
using board::kNever;

constexpr Time kSecond = 1'000'000'000;
constexpr Time kBegin = 1'000 * kSecond;
constexpr Time kTimeout = 60 * kSecond;

TEST(Heartbeat, AreNotAskedForWhileNobodyWaits) {
  Heartbeat signs;
  EXPECT_EQ(signs.ask(kBegin, kNever, kTimeout), Ask::no);
  EXPECT_EQ(signs.ask(kBegin + kTimeout, kNever, kTimeout), Ask::no);
}

TEST(Heartbeat, AreAskedForEverySecondFromTheFirstOn) {
  Heartbeat signs;
  EXPECT_EQ(signs.ask(kBegin + kSecond - 1, kBegin, kTimeout), Ask::no);
  EXPECT_FALSE(signs.asked_since(kBegin));
  EXPECT_EQ(signs.ask(kBegin + kSecond, kBegin, kTimeout), Ask::first);
  EXPECT_TRUE(signs.asked_since(kBegin + kSecond));
  EXPECT_FALSE(signs.asked_since(kBegin + kSecond + 1));
  EXPECT_EQ(signs.ask(kBegin + kSecond, kBegin, kTimeout), Ask::no);
  EXPECT_EQ(signs.ask(kBegin + 2 * kSecond - 1, kBegin, kTimeout), Ask::no);
  EXPECT_EQ(signs.ask(kBegin + 2 * kSecond, kBegin, kTimeout), Ask::again);
  EXPECT_EQ(signs.ask(kBegin + 3 * kSecond, kBegin, kTimeout), Ask::again);
}

TEST(Heartbeat, AreAskedForAnewWhenSomebodyWaitsAgain) {
  Heartbeat signs;
  EXPECT_EQ(signs.ask(kBegin + kSecond, kBegin, kTimeout), Ask::first);
  EXPECT_EQ(signs.ask(kBegin + 2 * kSecond, kNever, kTimeout), Ask::no);
  const Time again = kBegin + 3 * kSecond;
  EXPECT_FALSE(signs.asked_since(again));
  EXPECT_EQ(signs.ask(again, again, kTimeout), Ask::no);
  EXPECT_EQ(signs.ask(again + kSecond, again, kTimeout), Ask::first);
}

TEST(Heartbeat, AreAskedForMoreOftenWhereTheWaitIsShort) {
  Heartbeat signs;
  const Time timeout = 4 * kSecond;
  EXPECT_EQ(signs.ask(kBegin + kSecond / 2 - 1, kBegin, timeout), Ask::no);
  EXPECT_EQ(signs.ask(kBegin + kSecond / 2, kBegin, timeout), Ask::first);
  EXPECT_EQ(signs.ask(kBegin + kSecond, kBegin, timeout), Ask::again);
}

TEST(Heartbeat, AreOverdueWhenTwoAreMissing) {
  EXPECT_FALSE(Heartbeat::overdue(2 * kSecond - 1, kTimeout));
  EXPECT_TRUE(Heartbeat::overdue(2 * kSecond, kTimeout));
  EXPECT_TRUE(Heartbeat::overdue(kSecond, 4 * kSecond));
}

TEST(Heartbeat, AMachineWithoutAnyIsLostBeforeTheWaitTimesOut) {
  EXPECT_FALSE(Heartbeat::lost(57 * kSecond - 1, kTimeout));
  EXPECT_TRUE(Heartbeat::lost(57 * kSecond, kTimeout));
  EXPECT_TRUE(Heartbeat::lost(5 * kSecond, 8 * kSecond));
  EXPECT_FALSE(Heartbeat::lost(5 * kSecond - 1, 8 * kSecond));
}

TEST(Heartbeat, ButNotBeforeABusyOneCouldAnswer) {
  EXPECT_FALSE(Heartbeat::lost(2 * kSecond - 1, kSecond));
  EXPECT_TRUE(Heartbeat::lost(2 * kSecond, kSecond));
}

}  // namespace
}  // namespace syncopate::detail
