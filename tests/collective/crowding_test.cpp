// When a thread that looks for messages believes that others need its core.
#include "collective/crowding.h"

#include <gtest/gtest.h>

namespace syncopate::detail {
namespace {

using Time = board::Time;
constexpr Time kMicrosecond = 1'000, kMillisecond = 1'000'000;

/// Yields of a thread that does nothing else, one after another.
struct Thread {
  void yield(Time took, int times = 1) {
    for (; times > 0; --times) crowding.note_yield(took, now += took);
  }
  bool crowded() const { return crowding.crowded(now); }

  Crowding crowding;
  Time now = 0;
};

TEST(Crowding, IsSeenByAYieldThatLetsOthersRunForASlice) {
  Thread thread;
  thread.yield(40 * kMicrosecond, 1000);
  EXPECT_FALSE(thread.crowded()) << "others look for messages, too";
  thread.yield(3 * kMillisecond);
  EXPECT_TRUE(thread.crowded());
}

TEST(Crowding, IsSoonForgottenWhereAMachineStandsStillNowAndThen) {
  Thread thread;
  for (int stop = 0; stop < 10; ++stop) {
    thread.yield(2 * kMillisecond);
    EXPECT_TRUE(thread.crowded());
    thread.now += 6 * kMillisecond;
    EXPECT_FALSE(thread.crowded()) << stop;
    thread.yield(kMicrosecond, 10);
    thread.now += 25 * kMillisecond;
  }
}

TEST(Crowding, IsBelievedForLongerTheOftenerItIsSeen) {
  Thread thread;
  for (const Time believed : {5, 10, 20, 40, 80, 100, 100}) {
    thread.yield(3 * kMillisecond);
    thread.now += believed * kMillisecond - 1;
    EXPECT_TRUE(thread.crowded()) << believed;
    thread.now += 1;
    EXPECT_FALSE(thread.crowded()) << believed;
  }
}

}  // namespace
}  // namespace syncopate::detail
