// Other machines are asked for signs of life only while a rank waits, and given up before that
// wait times out, but not before they could answer.
#include "agent/heartbeat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace syncopate::agent {
namespace {

using Time = Heartbeat::Time;
using board::kNever;

constexpr Time kSecond = 1'000'000'000;
constexpr Time kBegin = 1'000 * kSecond;
constexpr Time kTimeout = 60 * kSecond;

/// One of three machines, which watches the two others.
class Heartbeats : public ::testing::Test {
 protected:
  bool asks(Time now, Time urgent_since, Time timeout = kTimeout) {
    return signs_.ask(now, urgent_since, timeout).has_value();
  }
  bool lost(Time now, Time timeout = kTimeout) const {
    return signs_.lost(now, timeout).has_value();
  }
  PeerActivity peers_{3};
  Heartbeat signs_{0, 3, peers_};
};

TEST_F(Heartbeats, AreNotAskedForWhileNoRankWaits) {
  EXPECT_FALSE(asks(kBegin, kNever));
  EXPECT_FALSE(asks(kBegin + kTimeout, kNever));
}

TEST_F(Heartbeats, AreAskedForEverySecondFromTheFirstOn) {
  EXPECT_FALSE(asks(kBegin + kSecond - 1, kBegin));
  EXPECT_FALSE(signs_.asked_since(kBegin));
  EXPECT_TRUE(asks(kBegin + kSecond, kBegin));
  EXPECT_TRUE(signs_.asked_since(kBegin + kSecond));
  EXPECT_FALSE(signs_.asked_since(kBegin + kSecond + 1));
  EXPECT_FALSE(asks(kBegin + kSecond, kBegin));
  EXPECT_FALSE(asks(kBegin + 2 * kSecond - 1, kBegin));
  EXPECT_TRUE(asks(kBegin + 2 * kSecond, kBegin));
  EXPECT_TRUE(asks(kBegin + 3 * kSecond, kBegin));
}

TEST_F(Heartbeats, AreAskedForMoreOftenWhereTheWaitIsShort) {
  const Time timeout = 4 * kSecond;
  EXPECT_FALSE(asks(kBegin + kSecond / 2 - 1, kBegin, timeout));
  EXPECT_TRUE(asks(kBegin + kSecond / 2, kBegin, timeout));
  EXPECT_TRUE(asks(kBegin + kSecond, kBegin, timeout));
}

TEST_F(Heartbeats, AreOverdueWhenTwoAreMissing) {
  asks(kBegin, kBegin - kSecond);
  EXPECT_FALSE(signs_.overdue(1, kBegin + 2 * kSecond - 1, kTimeout));
  EXPECT_TRUE(signs_.overdue(1, kBegin + 2 * kSecond, kTimeout));
  EXPECT_TRUE(signs_.overdue(1, kBegin + kSecond, 4 * kSecond));
}

TEST_F(Heartbeats, AMachineWithoutAnyIsLostBeforeTheWaitTimesOut) {
  asks(kBegin, kBegin - kSecond);
  EXPECT_FALSE(lost(kBegin + 57 * kSecond - 1));
  EXPECT_TRUE(lost(kBegin + 57 * kSecond));
  EXPECT_TRUE(lost(kBegin + 5 * kSecond, 8 * kSecond));
  EXPECT_FALSE(lost(kBegin + 5 * kSecond - 1, 8 * kSecond));
  peers_.note_heard(1, kBegin + 10 * kSecond, false);
  peers_.note_heard(2, kBegin + 11 * kSecond, false);
  EXPECT_EQ(signs_.lost(kBegin + 67 * kSecond, kTimeout), 1);
}

TEST_F(Heartbeats, ButNotBeforeABusyOneCouldAnswer) {
  asks(kBegin, kBegin - kSecond);
  EXPECT_FALSE(lost(kBegin + 2 * kSecond - 1, kSecond));
  EXPECT_TRUE(lost(kBegin + 2 * kSecond, kSecond));
}

TEST_F(Heartbeats, NothingIsExpectedWhileNoneIsAskedFor) {
  EXPECT_TRUE(asks(kBegin, kBegin - kSecond));
  const Time again = kBegin + 100 * kSecond;
  EXPECT_TRUE(asks(again, again - kSecond));
  EXPECT_FALSE(lost(again));
  EXPECT_FALSE(lost(again + 57 * kSecond - 1));
  EXPECT_TRUE(lost(again + 57 * kSecond));
}

/// One wait after the other does not begin the silence anew.
TEST_F(Heartbeats, SilenceGoesOnFromOneWaitToTheNext) {
  for (Time now = kBegin; now < kBegin + 57 * kSecond; now += 2 * kSecond) {
    EXPECT_TRUE(asks(now, now - kSecond));
    EXPECT_FALSE(lost(now));
  }
  EXPECT_TRUE(lost(kBegin + 57 * kSecond));
}

TEST_F(Heartbeats, AreNotPassedOnAmongAFew) {
  EXPECT_EQ(signs_.ask(kBegin, kBegin - kSecond, kTimeout), 0);
  EXPECT_FALSE(signs_.pass_on(kBegin + 10 * kSecond, 0, kTimeout));
}

TEST(Watching, AFewMachinesWatchEachOther) {
  EXPECT_EQ(Heartbeat::whom_to_watch(1, 3), (std::vector{2, 0}));
  EXPECT_EQ(Heartbeat::whom_to_watch(0, 9), (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(Heartbeat::whom_to_watch(0, 1).empty());
}

TEST(Watching, EachOfManyMachinesIsWatchedByAFew) {
  EXPECT_EQ(Heartbeat::whom_to_watch(1020, 1024), (std::vector{1021, 0, 12, 60, 252}));
  for (const int machines : {10, 64, 1000, 1024}) {
    std::vector<int> watchers(machines);
    for (int machine = 0; machine < machines; ++machine) {
      for (const int other : Heartbeat::whom_to_watch(machine, machines)) {
        EXPECT_NE(other, machine);
        ++watchers[other];
      }
    }
    EXPECT_EQ(std::ranges::min(watchers), std::ranges::max(watchers));
    EXPECT_GE(std::ranges::min(watchers), 2);
    EXPECT_LE(std::ranges::max(watchers), Heartbeat::kMostWatched);
  }
}

}  // namespace
}  // namespace syncopate::agent
