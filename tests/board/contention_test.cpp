// When a process believes that others need its cores.
#include "board/contention.h"

#include <gtest/gtest.h>

namespace syncopate::board {
namespace {

using Time = ContentionDetector::Time;
constexpr Time kMicrosecond = 1'000, kMillisecond = 1'000'000;

/// Yields of a thread that does nothing else, one after another.
struct Thread {
  void yield(Time took, int times = 1) {
    for (; times > 0; --times) crowding.note_yield(took, now += took);
  }
  bool crowded() const { return crowding.crowded(now); }

  ContentionDetector crowding;
  Time now = 0;
};

TEST(ContentionDetector, IsSeenByAYieldThatLetsOthersRunForASlice) {
  Thread thread;
  thread.yield(40 * kMicrosecond, 1000);
  EXPECT_FALSE(thread.crowded()) << "others look for messages, too";
  thread.yield(3 * kMillisecond);
  EXPECT_TRUE(thread.crowded());
}

TEST(ContentionDetector, IsSoonForgottenWhereMostYieldsAreBrief) {
  Thread thread;
  for (int stop = 0; stop < 10; ++stop) {
    thread.yield(2 * kMillisecond);
    EXPECT_TRUE(thread.crowded());
    thread.now += 2 * kMillisecond;
    EXPECT_FALSE(thread.crowded()) << stop;
    thread.yield(kMicrosecond, 3000);
  }
}

TEST(ContentionDetector, IsSeenOnceWhereAllThreadsOfAProcessStandStill) {
  Thread thread;
  thread.yield(3 * kMillisecond);
  for (int other = 0; other < 10; ++other) {
    thread.crowding.note_yield(3 * kMillisecond, thread.now += kMicrosecond);
  }
  thread.now += 2 * kMillisecond;
  EXPECT_FALSE(thread.crowded());
}

TEST(ContentionDetector, IsBelievedForLongerWhereLongYieldsTakeMostOfTheTime) {
  Thread thread;
  thread.yield(kMicrosecond, 5000);
  for (const Time believed : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000}) {
    thread.yield(3 * kMillisecond);
    thread.now += believed * kMillisecond - 1;
    EXPECT_TRUE(thread.crowded()) << believed;
    thread.now += 1;
    EXPECT_FALSE(thread.crowded()) << believed;
    thread.yield(40 * kMicrosecond, 50);  // While all wait for each other, say.
  }
}

}  // namespace
}  // namespace syncopate::board
