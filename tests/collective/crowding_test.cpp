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

TEST(Crowding, IsSeenAfterAFewYieldsThatLetOthersRun) {
  Thread thread;
  thread.yield(3 * kMillisecond);
  EXPECT_FALSE(thread.crowded()) << "one proves nothing";
  thread.yield(3 * kMillisecond, 2);
  EXPECT_TRUE(thread.crowded());
}

TEST(Crowding, IsSeenAfterALongTimeWithout) {
  Thread thread;
  thread.yield(kMicrosecond, 100'000);
  thread.yield(3 * kMillisecond, 4);
  EXPECT_TRUE(thread.crowded());
}

TEST(Crowding, IsForgottenAndSeenAgain) {
  Thread thread;
  thread.yield(3 * kMillisecond, 3);
  thread.now += 200 * kMillisecond;
  EXPECT_FALSE(thread.crowded());
  thread.yield(kMicrosecond, 1000);
  EXPECT_FALSE(thread.crowded());
  thread.yield(3 * kMillisecond, 4);
  EXPECT_TRUE(thread.crowded());
}

TEST(Crowding, IsNotBelievedWhereAMachineStandsStillNowAndThen) {
  Thread thread;
  for (int stop = 0; stop < 100; ++stop) {
    thread.yield(kMicrosecond, 5'000);
    thread.yield(2 * kMillisecond);
    EXPECT_FALSE(thread.crowded()) << stop;
  }
}

TEST(Crowding, IsNotThatOthersLookForMessagesToo) {
  Thread thread;
  thread.yield(40 * kMicrosecond, 10'000);
  EXPECT_FALSE(thread.crowded());
}

}  // namespace
}  // namespace syncopate::detail
