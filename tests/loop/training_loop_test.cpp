// What ranks of a loop of the program's own agree on, whatever their timing: rates, meetings, the
// end, and what is saved.
#include "syncopate/training_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>

#include "strategy/learner.h"
#include "strategy/names.h"
#include "strategy/play.h"
#include "support/crew.h"
#include "support/refusal.h"

namespace syncopate::testing {
namespace {

constexpr std::size_t kSize = 9;

/// A gradient that depends on the rank and the step, so that a lost or doubled one shows.
void write_gradient(std::span<float> gradient, int rank, int step) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = 0.01F * float((rank + 1) * (step % 7 + 1)) - 0.002F * float(i);
  }
}

struct Rank {
  Rank(World& world, const char* strategy, float start = 1)
      : learner(Vector(kSize, start), {.rate = 0.1F, .momentum = 0.5F}),
        loop(world, learner, strategy) {}

  void step(int rank, int number) {
    loop.begin_step();
    write_gradient(learner.gradient(), rank, number);
    loop.end_step(std::chrono::milliseconds(1));
  }

  VectorLearner learner;
  TrainingLoop loop;
};

class Loop : public ::testing::TestWithParam<const char*> {};

TEST_P(Loop, StartsWithTheFirstRanksWeights) {
  with_ranks(3, [](World& world) {
    Rank rank(world, GetParam(), float(world.rank() + 1));
    for (const float weight : rank.learner.weights()) EXPECT_EQ(weight, 1.0F);
    rank.loop.finish();
  });
}

// A schedule that were moved by each rank's own calls would give the replicas different rates.
TEST_P(Loop, SchedulesMoveByTheMeanOfTheRanksCalls) {
  std::vector<Vector> ends(3);
  std::vector<int> moves(3);
  with_ranks(3, [&](World& world) {
    std::minstd_rand random(unsigned(world.rank() + 7));
    Rank rank(world, GetParam());
    const std::size_t schedule = rank.loop.add_schedule(
        [&](double) { rank.learner.set_rate(0.1F / float(++moves[world.rank()] + 1)); });
    const int steps = 40 + 20 * world.rank();
    for (int step = 0; step < steps; ++step) {
      dawdle(int(random() % 4), unsigned(random()));
      rank.step(world.rank(), step);
      rank.loop.advance(schedule);
    }
    rank.loop.finish();  // It throws unless the replicas are equal.
    ends[world.rank()] = to_vector(rank.learner.weights());
  });
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
  // Of 180 calls by three ranks, the last ones of each may be in no deposit; m-sync drops some.
  EXPECT_LE(*std::ranges::max_element(moves), 80);
  EXPECT_GE(*std::ranges::min_element(moves), 10);
}

TEST_P(Loop, MeetingsAreHeldByAllRanksAfterTheSameRound) {
  std::vector<std::vector<std::uint64_t>> met(4);
  with_ranks(4, [&](World& world) {
    std::minstd_rand random(unsigned(world.rank() + 3));
    Rank rank(world, GetParam());
    rank.loop.every(4, [&] {
      world.barrier();
      met[world.rank()].push_back(rank.loop.rounds());
    });
    // Ranks with fewer steps take part in the others' meetings, in finish().
    for (int step = 0; step < 30 + 15 * world.rank(); ++step) {
      dawdle(int(random() % 4), unsigned(random()));
      rank.step(world.rank(), step);
    }
    rank.loop.finish();
  });
  EXPECT_GE(met[0].size(), 2U);
  for (const auto& rounds : met) EXPECT_EQ(rounds, met[0]);
}

TEST_P(Loop, AVoteToStopEndsAllRanksAfterTheSameRound) {
  std::vector<std::uint64_t> ends(3);
  with_ranks(3, [&](World& world) {
    Rank rank(world, GetParam());
    for (int step = 0; !rank.loop.stopped(); ++step) {
      ASSERT_LT(step, 10'000);
      if (world.rank() == 1 && step == 20) rank.loop.stop();
      rank.step(world.rank(), step);
    }
    ends[world.rank()] = rank.loop.rounds();
    rank.loop.finish();
  });
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_EQ(ends[0], ends[2]);
}

TEST_P(Loop, AVoteInAMeetingEndsAllRanksThere) {
  with_ranks(3, [&](World& world) {
    Rank rank(world, GetParam());
    int meetings = 0;
    rank.loop.every(5, [&] {
      if (++meetings == 2 && world.rank() == 2) rank.loop.stop();
    });
    for (int step = 0; !rank.loop.stopped(); ++step) {
      ASSERT_LT(step, 10'000);
      rank.step(world.rank(), step);
    }
    EXPECT_EQ(meetings, 2);
    rank.loop.finish();
  });
}

TEST_P(Loop, WhatIsSavedIsTheSameOnAllRanksAndGoesOnWithAnyNumberOfThem) {
  std::vector<StrategyState> saved(3);
  Vector weights;
  with_ranks(3, [&](World& world) {
    std::minstd_rand random(unsigned(world.rank() + 5));
    Rank rank(world, GetParam());
    rank.loop.every(10, [&] {
      saved[world.rank()] = rank.loop.save();
      if (world.rank() == 0) weights = to_vector(rank.learner.weights());
      rank.loop.stop();
    });
    for (int step = 0; !rank.loop.stopped(); ++step) {
      dawdle(int(random() % 4), unsigned(random()));
      rank.step(world.rank(), step);
    }
    rank.loop.finish();
  });
  EXPECT_EQ(saved[0], saved[1]);
  EXPECT_EQ(saved[0], saved[2]);
  for (const int ranks : {1, 2, 5}) {
    SCOPED_TRACE(ranks);
    if (ranks < 2 && std::string(GetParam()).find(":2") != std::string::npos)
      continue;  // Two at least.
    with_ranks(ranks, [&](World& world) {
      VectorLearner learner(weights, {.rate = 0.1F, .momentum = 0.5F});
      TrainingLoop loop(world, learner, GetParam());
      loop.load(saved[0]);
      EXPECT_GE(loop.rounds(), 10U);
      loop.finish();
    });
  }
}

// What was carried when a loop was saved is applied exactly once in the one that goes on from it.
TEST(LoopCarries, EveryGradientIntoTheRunThatGoesOn) {
  constexpr int kSteps = 12;
  constexpr const char* kStrategy = "eager-solo:anticipate=off:momentum-by-mass=off:grace=off";
  StrategyState saved;
  double applied = 0;
  const auto listen = [](VectorLearner& learner, double& sum) {
    learner.on_step = [&sum](std::span<const float> gradient) { sum += gradient[0]; };
  };
  with_ranks(3, [&](World& world) {
    VectorLearner learner(Vector(kSize, 0.0F), {.rate = 1});
    TrainingLoop loop(world, learner, kStrategy);
    double sum = 0;
    listen(learner, sum);
    loop.every(6, [&] {
      if (loop.stopped()) return;
      if (world.rank() == 0) {
        saved = loop.save();
        applied = sum;
      }
      loop.stop();
    });
    int taken = 0;
    std::minstd_rand random(unsigned(world.rank() + 1));
    while (!loop.stopped() && taken < kSteps) {
      dawdle(int(random() % 8), unsigned(random()));
      loop.begin_step();
      std::ranges::fill(learner.gradient(), 0.0F);
      learner.gradient()[0] = 3;  // One, in the mean over three ranks.
      ++taken;
      loop.end_step(std::chrono::milliseconds(1));
    }
    loop.finish();
  });
  ASSERT_TRUE(saved.has("rounds"));
  const double carried = saved.has("carried") ? saved.vector("carried")[0] / 3 : 0;
  with_ranks(2, [&](World& world) {
    VectorLearner learner(Vector(kSize, 0.0F), {.rate = 1});
    TrainingLoop loop(world, learner, kStrategy);
    double sum = 0;
    listen(learner, sum);
    loop.load(saved);
    loop.finish();
    EXPECT_NEAR(sum * world.size(), carried * 3, 1e-4);
  });
  EXPECT_GE(applied, 6.0 - 1e-4);
}

TEST(LoopRefuses, WhatCannotBe) {
  with_ranks(1, [](World& world) {
    Rank rank(world, "sync");
    expect_refused(ErrorCode::invalid_argument, {"every 0 rounds"},
                   [&] { rank.loop.every(0, [] {}); });
    expect_refused(ErrorCode::invalid_argument, {"no schedule 0"}, [&] { rank.loop.advance(0); });
    for (std::size_t i = 0; i < TrainingLoop::kSchedules; ++i) {
      rank.loop.add_schedule([](double) {});
    }
    expect_refused(ErrorCode::invalid_argument, {"more than 8 schedules"},
                   [&] { rank.loop.add_schedule([](double) {}); });
    rank.step(0, 0);
    expect_refused(ErrorCode::invalid_argument, {"middle of its rounds"},
                   [&] { rank.loop.save(); });
    expect_refused(ErrorCode::invalid_argument, {"middle of rounds"},
                   [&] { rank.loop.every(1, [] {}); });
    expect_refused(ErrorCode::invalid_argument, {"middle of rounds"},
                   [&] { rank.loop.add_schedule([](double) {}); });
    StrategyState odd;
    expect_refused(ErrorCode::invalid_argument, {"has begun"}, [&] { rank.loop.load(odd); });
    rank.loop.finish();
    expect_refused(ErrorCode::closed, {"after finish()"}, [&] { rank.loop.begin_step(); });
  });
}

// A rank that changes its weights behind the loop's back is found out.
TEST(LoopNotices, ReplicasThatAreNotEqual) {
  std::atomic<int> refused = 0;
  with_ranks(2, [&](World& world) {
    Rank rank(world, "sync");
    for (int step = 0; step < 5; ++step) rank.step(world.rank(), step);
    if (world.rank() == 1) {
      Vector other(kSize, 17.0F);
      rank.learner.keep_weights_at(other.data());
      rank.learner.keep_weights_at(nullptr);
    }
    try {
      rank.loop.finish();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::mismatch);
      ++refused;
    }
  });
  EXPECT_EQ(refused, 2);
}

// A rank that did not know of it would apply rounds at another rate than the others.
TEST(LoopSchedules, AreTheSameOnAllRanks) {
  std::atomic<int> refused = 0;
  with_ranks(2, [&](World& world) {
    Rank rank(world, "sync");
    if (world.rank() == 0) rank.loop.advance(rank.loop.add_schedule([](double) {}));
    try {
      rank.step(world.rank(), 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::mismatch);
      ++refused;
    }
  });
  EXPECT_EQ(refused, 1);
}

TEST(LoopSchedules, GetTheMeanOfWhatTheCallsMeasured) {
  std::vector<double> values(2);
  with_ranks(2, [&](World& world) {
    Rank rank(world, "sync");
    const std::size_t schedule =
        rank.loop.add_schedule([&](double value) { values[world.rank()] = value; });
    rank.step(world.rank(), 0);
    rank.loop.advance(schedule, world.rank() == 0 ? 1.0 : 4.0);
    rank.step(world.rank(), 1);
    rank.loop.finish();
  });
  EXPECT_EQ(values[0], 2.5);
  EXPECT_EQ(values[1], 2.5);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Loop,
                         ::testing::Values("sync", "eager-solo", "eager-majority", "eager-quorum:2",
                                           "m-sync:2", "dropcompute", "wagma:2:5", "local:4",
                                           "post-local:10:4", "biased-local:4"),
                         name_by_strategy);

}  // namespace
}  // namespace syncopate::testing
