// Other machines are asked for signs of life only while somebody waits, and given up before that
// wait times out, but not before they could answer.
#include "agent/heartbeat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace syncopate::agent {
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

TEST(Heartbeat, AFewMachinesWatchEachOther) {
  EXPECT_EQ(Heartbeat::whom_to_watch(1, 3, {}), (std::vector{0, 2}));
  EXPECT_EQ(Heartbeat::whom_to_watch(0, 9, {}), (std::vector{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(Heartbeat::whom_to_watch(0, 1, {0}).empty());
}

TEST(Heartbeat, EachOfManyMachinesIsWatchedByAFew) {
  constexpr int kMachines = 1024;
  std::vector<int> everyone(kMachines);
  std::iota(everyone.begin(), everyone.end(), 0);
  for (const auto& awaited : {std::vector<int>{}, everyone}) {
    std::vector<int> watchers(kMachines);
    for (int machine = 0; machine < kMachines; ++machine) {
      for (const int other : Heartbeat::whom_to_watch(machine, kMachines, awaited)) {
        EXPECT_NE(other, machine);
        ++watchers[other];
      }
    }
    EXPECT_GE(std::ranges::min(watchers), 3);
    EXPECT_LE(std::ranges::max(watchers), Heartbeat::kMostWatched);
  }
}

TEST(Heartbeat, OneThatIsWaitedForIsWatchedWhereverItIs) {
  const std::vector<int> watched = Heartbeat::whom_to_watch(500, 1024, {7, 7, 900});
  EXPECT_EQ(watched, (std::vector{7, 501, 502, 503, 900}));
}

}  // namespace
}  // namespace syncopate::agent
