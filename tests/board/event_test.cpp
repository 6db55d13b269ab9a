// No rank that sleeps on an event misses its news, and none is woken that need not be.
#include "board/event.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "support/crew.h"

namespace syncopate::board {
namespace {

using namespace std::chrono_literals;
using testing::kThrift;

/// The real host, with a count of the system calls it would make.
class CountingPlatform : public Platform {
 public:
  Time now() override { return real_->now(); }
  void park(Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    ++parks;
    before_park();
    real_->park(word, expected, until);
  }
  void wake(Shared<std::uint32_t>& word, int count) override {
    ++wakes;
    real_->wake(word, count);
  }
  bool alive(int rank, const ProcessId& process) override { return real_->alive(rank, process); }
  std::string describe(const ProcessId& process) override { return real_->describe(process); }
  Eagerness eagerness(bool oversubscribed) const override {
    return real_->eagerness(oversubscribed);
  }
  Time yield(Time now) override { return real_->yield(now); }
  bool crowded(Time now) const override { return real_->crowded(now); }
  Cores cores() const override { return real_->cores(); }

  std::function<void()> before_park = [] {};
  std::atomic<int> parks = 0;
  std::atomic<int> wakes = 0;

 private:
  std::unique_ptr<Platform> real_ = make_thread_platform();
};

class EventTest : public ::testing::Test {
 protected:
  Time in(Duration time) { return platform_.now() + time.count(); }

  CountingPlatform platform_;
  std::unique_ptr<Event> event_ = std::make_unique<Event>();
};

TEST_F(EventTest, ASignalThatNobodySleepsForCostsNoSystemCall) {
  for (int i = 0; i < 100; ++i) event_->signal(platform_);
  EXPECT_EQ(platform_.wakes, 0);
}

TEST_F(EventTest, EverySignalIsNews) {
  auto before = event_->read();
  for (int i = 0; i < 10000; ++i) {
    event_->signal(platform_);
    ASSERT_NE(event_->read(), before);
    before = event_->read();
  }
}

TEST_F(EventTest, ANumberThatIsThereIsNoNews) {
  event_->announce(platform_, 3);
  const std::uint64_t seen = event_->read();
  event_->announce(platform_, 3);
  event_->announce(platform_, 2);
  EXPECT_EQ(event_->number(), 3U);
  EXPECT_EQ(event_->read(), seen);
}

TEST_F(EventTest, WhoSawOldNewsDoesNotSleep) {
  const auto before = event_->read();
  event_->signal(platform_);
  event_->sleep(platform_, before, kNever);
  EXPECT_EQ(platform_.parks, 0);
}

TEST_F(EventTest, ASleeperWakesAtItsTime) {
  const Time until = in(2ms);
  while (platform_.now() < until) event_->sleep(platform_, event_->read(), until);
  EXPECT_GE(platform_.now(), until);
  EXPECT_GE(platform_.parks, 1);
}

TEST_F(EventTest, AWakeForOneLeavesTheOthersToTheNextNews) {
  const auto before = event_->read();
  std::atomic<int> awake = 0;
  std::vector<std::thread> sleepers;
  for (int i = 0; i < 3; ++i) {
    sleepers.emplace_back([&] {
      while (event_->read() == before) event_->sleep(platform_, before, in(10s));
      ++awake;
    });
  }
  while (platform_.parks < 3) std::this_thread::yield();
  event_->signal(platform_, 1);
  while (awake < 1) std::this_thread::yield();
  event_->signal(platform_);
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(awake, 3);
  EXPECT_LE(platform_.wakes, 2);
}

TEST_F(EventTest, NoNewsIsLostBetweenLookingAndSleeping) {
  // Two threads hand a number to and fro; a lost wake-up would show as a wait to the deadline.
  const int turns = 20000 / kThrift;
  for (const bool oversubscribed : {false, true}) {
    std::atomic<int> turn = 0;
    const auto play = [&](int player) {
      Lookout lookout(platform_, oversubscribed);
      for (int i = player; i < turns; i += 2) {
        for (;;) {
          const auto seen = event_->read();
          if (turn == i) break;
          const Time deadline = in(10s);
          lookout.wait(*event_, seen, deadline);
          ASSERT_LT(platform_.now(), deadline) << "a wake-up was lost";
        }
        turn = i + 1;
        event_->signal(platform_);
      }
    };
    std::thread other(play, 1);
    play(0);
    other.join();
    EXPECT_EQ(turn, turns);
  }
}

TEST_F(EventTest, ANudgeWakesTheSleeperAndIsNoNews) {
  const auto before = event_->read();
  event_->nudge(platform_);
  EXPECT_EQ(platform_.wakes, 0) << "no rank sleeps";
  Shared<std::uint64_t> nudges;
  const Time deadline = in(10s);
  std::thread sleeper([&] {
    while (nudges.load() == 0 && platform_.now() < deadline) {
      event_->sleep(platform_, before, deadline, {.word = &nudges, .seen = 0});
    }
  });
  while (platform_.parks < 1) std::this_thread::yield();
  nudges.increment();
  event_->nudge(platform_);
  sleeper.join();
  EXPECT_LT(platform_.now(), deadline) << "it was not woken";
  EXPECT_EQ(event_->read(), before);
  EXPECT_EQ(platform_.wakes, 1);
}

TEST_F(EventTest, NoNudgeIsLostBeforeTheSleep) {
  Shared<std::uint64_t> nudges;
  const Watched watched{.word = &nudges, .seen = nudges.load()};
  nudges.increment();
  event_->nudge(platform_);
  event_->sleep(platform_, event_->read(), in(10s), watched);
  EXPECT_EQ(platform_.parks, 0) << "it sleeps";
}

TEST_F(EventTest, NoNudgeIsLostBetweenTheLastLookAndTheSleep) {
  Shared<std::uint64_t> nudges;
  platform_.before_park = [&] {
    nudges.increment();
    event_->nudge(platform_);
  };
  const Time deadline = in(10s);
  event_->sleep(platform_, event_->read(), deadline, {.word = &nudges, .seen = 0});
  EXPECT_LT(platform_.now(), deadline);
  EXPECT_EQ(nudges.load(), 1);
}

TEST_F(EventTest, ALookoutReturnsAtItsTime) {
  for (const bool oversubscribed : {false, true}) {
    Lookout lookout(platform_, oversubscribed);
    const Time until = in(1ms);
    while (platform_.now() < until) lookout.wait(*event_, event_->read(), until);
  }
}

}  // namespace
}  // namespace syncopate::board
