// Steps that last as long as they are due to, on a clock that only moves when it is slept on.
#include "train/pace.h"

#include <gtest/gtest.h>
#include <sys/time.h>

#include <atomic>
#include <csignal>
#include <functional>

namespace syncopate::train {
namespace {

using namespace std::chrono_literals;

class ScriptedClock : public Clock {
 public:
  Time now() override { return now_; }
  void sleep_until(Time time) override {
    ++sleeps_;
    ASSERT_GT(time, now_) << "a sleep that is none is a spin";
    now_ = time;
    if (after_sleep) after_sleep();
  }

  void work(Duration time) { now_ += time; }
  void set_back(Duration time) { now_ -= time; }
  Duration elapsed() const { return now_ - kStart; }
  int sleeps() const { return sleeps_; }

  /// What happens while the sleeper wakes up.
  std::function<void()> after_sleep;

 private:
  static constexpr Time kStart{1000s};
  Time now_ = kStart;
  int sleeps_ = 0;
};

class Pace : public ::testing::Test {
 protected:
  ScriptedClock clock_;
  std::atomic<bool> stop_ = false;
  Pacer pacer_{clock_, stop_};
};

TEST_F(Pace, AStepLastsAsLongAsItIsDue) {
  clock_.work(7ms);
  pacer_.finish(45ms);
  EXPECT_EQ(clock_.elapsed(), 45ms);
}

TEST_F(Pace, AStepThatTookLongerIsNotDelayed) {
  clock_.work(50ms);
  pacer_.finish(45ms);
  EXPECT_EQ(clock_.elapsed(), 50ms);
  EXPECT_EQ(clock_.sleeps(), 0);
}

TEST_F(Pace, TimeBetweenStepsBelongsToNone) {
  pacer_.finish(10ms);
  clock_.work(100ms);  // an exchange
  pacer_.begin();
  clock_.work(4ms);
  pacer_.finish(10ms);
  EXPECT_EQ(clock_.elapsed(), 120ms);
}

TEST_F(Pace, PartsAreDueEvenly) {
  for (int part = 1; part <= 3; ++part) {
    clock_.work(2ms);
    pacer_.finish_part(part, 3, 30ms);
    EXPECT_EQ(clock_.elapsed(), part * 10ms);
  }
}

TEST_F(Pace, AShortPartMakesUpForALongOne) {
  clock_.work(18ms);
  pacer_.finish_part(1, 3, 30ms);
  EXPECT_EQ(clock_.elapsed(), 18ms);
  clock_.work(1ms);
  pacer_.finish_part(2, 3, 30ms);
  EXPECT_EQ(clock_.elapsed(), 20ms);
}

TEST_F(Pace, PartsOfALongStepDoNotOverflow) {
  pacer_.finish_part(1, 3, 10ns);
  EXPECT_EQ(clock_.elapsed(), 3ns);
  clock_.after_sleep = [this] { clock_.work(24h); };
  pacer_.finish_part(999'999, 1'000'000, 24h * 365);
  EXPECT_GE(clock_.elapsed(), 24h * 364);
}

TEST_F(Pace, ASleepThatEndsEarlyGoesOn) {
  int times = 0;
  clock_.after_sleep = [&] {
    if (++times == 1) clock_.set_back(3ms);
  };
  pacer_.finish(5ms);
  EXPECT_EQ(clock_.elapsed(), 5ms);
  EXPECT_EQ(clock_.sleeps(), 2);
}

TEST_F(Pace, StopEndsTheSleep) {
  clock_.after_sleep = [this] { stop_ = true; };
  pacer_.finish(1h);
  EXPECT_LT(clock_.elapsed(), 100ms);
  pacer_.finish(2h);
  EXPECT_EQ(clock_.sleeps(), 1);
}

TEST(PaceOnTheRealClock, SleepsUntilTheTime) {
  SteadyClock clock;
  const auto until = clock.now() + 1ms;
  clock.sleep_until(until);
  EXPECT_GE(clock.now(), until);
}

std::atomic<bool> interrupted = false;

TEST(PaceOnTheRealClock, ASignalEndsASleepOfAnHour) {
  static_assert(std::atomic<bool>::is_always_lock_free);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGALRM, &action, &before);

  SteadyClock clock;
  Pacer pacer(clock, interrupted);
  const itimerval once{.it_value = {.tv_usec = 1000}};
  setitimer(ITIMER_REAL, &once, nullptr);
  pacer.finish(1h);
  EXPECT_TRUE(interrupted);
  sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
}  // namespace syncopate::train
