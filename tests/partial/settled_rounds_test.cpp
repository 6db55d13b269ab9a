// Rounds that two ranks settle between themselves: the same promises, also where one of them gives
// up waiting, adds to its deposit or goes its own way.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

const PartialOptions kBoth{.trigger = all(), .scale = Scale::none};
/// The first is settled, the second is too large for that.
constexpr std::array<std::size_t, 2> kLengths = {1, 5000};

float value_of(int rank, int step) { return static_cast<float>((rank + 1) * (step % 100 + 1)); }

TEST(SettledRounds, HaveTheSumsOfBothInEveryStep) {
  for (const std::size_t elements : {1, 5, 6, 7, 16, 2048, 2049}) {
    on_threads(World::threads(2), [&](World& world) {
      PartialAllreduce<float> rounds(world, elements, kBoth);
      for (int step = 0; step < 2000; ++step) {
        std::fill_n(rounds.slot(), elements, value_of(world.rank(), step));
        const auto result = rounds.exchange();
        ASSERT_EQ(result.size(), 1U);
        ASSERT_EQ(result.front().number(), std::uint64_t(step + 1));
        ASSERT_EQ(result.front().sum().front(), value_of(0, step) + value_of(1, step));
        ASSERT_EQ(result.front().sum().back(), value_of(0, step) + value_of(1, step));
        const Receipt receipt = result.front().receipt();
        ASSERT_EQ(receipt.contributors.size(), 2);
        ASSERT_TRUE(receipt.included);
        ASSERT_EQ(receipt.weight, 2);
        ASSERT_EQ(receipt.staleness, 0U);
        ASSERT_TRUE(receipt.waited_for == -1 || receipt.waited_for == 1 - world.rank());
      }
    });
  }
}

/// Deposits that a rank waits with, and others, in any order; at the end one goes on alone.
TEST(SettledRounds, MixWithAllOthers) {
  for (const std::size_t elements : kLengths) {
    constexpr int kSteps = 3000;
    std::array<double, 2> deposited{};
    std::array<double, 2> received{};
    std::array<std::uint64_t, 2> followed{};
    on_threads(World::threads(2), [&](World& world) {
      const int me = world.rank();
      std::mt19937 random(7 + me);
      PartialAllreduce<float> rounds(world, elements, kBoth);
      const auto follow = [&](const Round<float>& round) {
        received[me] += double(round.sum().front());
        EXPECT_EQ(round.number(), ++followed[me]);
      };
      for (int step = 0; step < kSteps + 200 * me; ++step) {
        const auto kind = random() % 8;
        if (kind == 0) rounds.start_empty();
        if (kind > 0) {
          std::fill_n(rounds.slot(), elements, value_of(me, step));
          deposited[me] += double(value_of(me, step)) * (kind == 1 ? 3 : 1);
        }
        if (kind == 1) rounds.start(3);
        if (kind == 2) rounds.start();
        if (kind > 2) {
          for (const auto& round : rounds.exchange()) follow(round);
        } else if (rounds.ready()) {
          for (const auto& round : rounds.wait()) follow(round);
        }
      }
      rounds.finish(follow);
    });
    EXPECT_EQ(received[0], deposited[0] + deposited[1]) << elements;
    EXPECT_EQ(received[0], received[1]) << elements;
    EXPECT_EQ(followed[0], followed[1]) << elements;
  }
}

/// One gives up again and again just when the other comes, and deposits more.
TEST(SettledRounds, LoseNothingWhereAWaitIsGivenUp) {
  for (const std::size_t elements : kLengths) {
    std::array<double, 2> deposited{};
    std::array<double, 2> received{};
    std::atomic<int> given_up = 0;
    on_threads(World::threads(2), [&](World& world) {
      const int me = world.rank();
      PartialAllreduce<float> rounds(world, elements, kBoth);
      if (me == 0) world.set_timeout(200us);
      const auto follow = [&](const Round<float>& round) {
        received[me] += double(round.sum().front());
      };
      for (int step = 0; step < 400; ++step) {
        std::fill_n(rounds.slot(), elements, value_of(me, step));
        deposited[me] += double(value_of(me, step));
        if (me == 1) {
          // Not to wait for anything, but to come at about the time when the other gives up.
          std::this_thread::sleep_for(std::chrono::microseconds(step % 400));
          for (const auto& round : rounds.exchange()) follow(round);
          continue;
        }
        try {
          for (const auto& round : rounds.exchange()) follow(round);
        } catch (const Error& error) {
          ASSERT_EQ(error.code(), ErrorCode::timeout) << error.what();
          ++given_up;
        }
      }
      if (me == 0) world.set_timeout(60s);
      rounds.finish(follow);
    });
    EXPECT_GT(given_up, 0);
    EXPECT_EQ(received[0], deposited[0] + deposited[1]) << elements;
    EXPECT_EQ(received[0], received[1]) << elements;
  }
}

}  // namespace
}  // namespace syncopate::testing
