// Machines whose clocks are hours apart know which of two things was first.
#include "agent/common_clock.h"

#include <gtest/gtest.h>

#include <limits>

namespace syncopate::agent {
namespace {

using Time = CommonClock::Time;
constexpr Time kMicrosecond = 1'000, kSecond = 1'000'000'000, kHour = 3600 * kSecond;

TEST(CommonClock, IsThatOfTheFirstMachine) {
  const CommonClock first(0);
  EXPECT_TRUE(first.known());
  EXPECT_EQ(first.common(5), 5);
  EXPECT_FALSE(CommonClock(1).known());
}

TEST(CommonClock, IsKnownToHalfOfTheWay) {
  for (const Time apart : {-9 * kHour, Time{0}, 30 * kHour}) {
    CommonClock clock(1);
    const Time now = 10 * kHour;
    // A way of 20 µs there and 60 back.
    clock.note(now, now + apart + 20 * kMicrosecond, now + 80 * kMicrosecond);
    ASSERT_TRUE(clock.known());
    EXPECT_NEAR(double(clock.common(now)), double(now + apart), 40.0 * kMicrosecond);
  }
}

TEST(CommonClock, TakesTheAnswerThatCameSoonest) {
  CommonClock clock(1);
  clock.note(kHour, 2 * kHour, kHour + kSecond);  // Up to half a second off.
  clock.note(kHour + 2 * kSecond, 2 * kHour + 2 * kSecond, kHour + 2 * kSecond + 2 * kMicrosecond);
  EXPECT_NEAR(double(clock.common(kHour)), double(2 * kHour), 1.0 * kMicrosecond);
  clock.note(kHour + 3 * kSecond, 2 * kHour + 3 * kSecond, kHour + 5 * kSecond);
  EXPECT_NEAR(double(clock.common(kHour)), double(2 * kHour), 1.0 * kMicrosecond);
}

TEST(CommonClock, FollowsClocksThatDrift) {
  CommonClock clock(1);
  clock.note(kSecond, kSecond, kSecond + 10 * kMicrosecond);
  // A day later they are a second apart, and the way is slower than it was.
  const Time later = 25 * kHour;
  clock.note(later, later + kSecond, later + 500 * kMicrosecond);
  EXPECT_NEAR(double(clock.common(later)), double(later + kSecond), 250.0 * kMicrosecond);
}

TEST(CommonClock, HeedsNoTimesThatCannotBe) {
  CommonClock clock(1);
  constexpr Time kEnd = std::numeric_limits<Time>::max();
  clock.note(5, 5, 4);
  clock.note(-1, 5, 6);
  clock.note(1, -5, 6);
  clock.note(1, kEnd, 6);
  clock.note(kEnd, kEnd, kEnd);
  EXPECT_FALSE(clock.known());
}

}  // namespace
}  // namespace syncopate::agent
