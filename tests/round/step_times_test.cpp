// The running median of step times: what automatic grace is a share of.
#include "round/step_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace syncopate::round {
namespace {

using namespace std::chrono_literals;

TEST(Median, IsTheMiddleOneAndTheLowerOfTwo) {
  std::vector<std::chrono::nanoseconds> none;
  EXPECT_EQ(median(none), 0ns);
  std::vector<std::chrono::nanoseconds> three{9ns, 1ns, 5ns};
  EXPECT_EQ(median(three), 5ns);
  std::vector<std::chrono::nanoseconds> four{4ns, 1ns, 3ns, 2ns};
  EXPECT_EQ(median(four), 2ns);
}

TEST(StepTimes, DoNotFollowAStragglingStepNowAndThen) {
  StepTimes times;
  EXPECT_EQ(times.typical(), 0ns);
  for (int step = 0; step < 100; ++step) {
    times.add(step % 4 == 3 ? 1s : 10ms);
    EXPECT_EQ(times.typical(), 10ms);
  }
}

TEST(StepTimes, ForgetWhatIsLongAgo) {
  StepTimes times;
  for (int step = 0; step < 1000; ++step) times.add(1s);
  for (int step = 0; step < 15; ++step) times.add(1ms);
  EXPECT_EQ(times.typical(), 1ms);
}

}  // namespace
}  // namespace syncopate::round
