// DropCompute: the deadline it chooses is the best one there is, all ranks choose the same, and
// what a step skips counts as zero. Times are what enough() is told, so nothing here is timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "strategy/cut.h"
#include "strategy/gradient_reference.h"
#include "strategy/learner.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using strategy::best_cut;
using strategy::StepRecord;

/// Mean over steps of (kept fraction) * (T + Tc) / (T cut at tau + Tc), from the formula.
double speed(const StepRecord& record, double tau) {
  double sum = 0;
  for (int step = 0; step < record.steps; ++step) {
    double slowest = 0, slowest_cut = 0, kept = 0;
    for (int rank = 0; rank < record.ranks; ++rank) {
      const auto ends = record.ends.subspan(
          (std::size_t(rank) * record.steps + step) * record.parts, std::size_t(record.parts));
      slowest = std::max(slowest, double(ends.back()));
      // Stops after the first part that ends at tau or later.
      int done = 1;
      while (done < record.parts && ends[done - 1] < tau) ++done;
      kept += done;
      slowest_cut = std::max(slowest_cut, double(ends[done - 1]));
    }
    sum += kept / (record.ranks * record.parts) * (slowest + record.exchange) /
           (slowest_cut + record.exchange);
  }
  return sum / record.steps;
}

Vector random_ends(const StepRecord& record, std::minstd_rand& random) {
  Vector ends;
  std::lognormal_distribution<float> part(0, 0.7F);
  for (int i = 0; i < record.ranks * record.steps; ++i) {
    float end = 0;
    const float slow = random() % 8 == 0 ? 10.0F : 1.0F;
    for (int j = 0; j < record.parts; ++j) ends.push_back(end += slow * part(random));
  }
  return ends;
}

TEST(BestCut, IsAsGoodAsAnyOnAFineGrid) {
  std::minstd_rand random(1);
  for (int trial = 0; trial < 40; ++trial) {
    StepRecord record{.steps = 1 + int(random() % 5),
                      .ranks = 1 + int(random() % 5),
                      .parts = 2 + int(random() % 5),
                      .exchange = double(random() % 4)};
    const Vector ends = random_ends(record, random);
    record.ends = ends;
    const double best = speed(record, best_cut(record));
    const double last = *std::max_element(ends.begin(), ends.end());
    EXPECT_GE(best, 1) << "no cut at all has speed 1";
    for (int i = 1; i <= 2000; ++i) {
      ASSERT_GE(best + 1e-9, speed(record, last * i / 2000)) << "at " << last * i / 2000;
    }
  }
}

TEST(BestCut, LetsEverybodyFinishWhereAllAreAlike) {
  const Vector ends{1, 2, 3, 4, 1, 2, 3, 4};
  const StepRecord record{.steps = 1, .ranks = 2, .parts = 4, .ends = ends, .exchange = 1};
  EXPECT_GE(best_cut(record), 4);
}

TEST(BestCut, CutsAStragglerOff) {
  const Vector ends{1, 2, 3, 4, 1, 2, 3, 4, 4, 20, 30, 40};
  const StepRecord record{.steps = 1, .ranks = 3, .parts = 4, .ends = ends, .exchange = 1};
  EXPECT_EQ(best_cut(record), 4);
}

/// One step: parts of so long each, as many as the strategy wants. Returns how many that were.
int take_parts(Strategy& strategy, VectorLearner& learner, Duration part, float value) {
  int done = 0;
  take_step(
      strategy, learner,
      [&](auto, std::span<float> gradient) {
        std::ranges::fill(gradient, 0);
        do {
          ++done;
          // Divided by all parts, done or not.
          for (float& one : gradient) one += value / float(strategy.parts());
        } while (!strategy.enough(part * done) && done < strategy.parts());
      },
      part * done);
  return done;
}

TEST(DropCompute, StopsAfterThePartThatPassesTheDeadline) {
  with_ranks(3, [](World& world) {
    VectorLearner learner(Vector(2), {.rate = 1});
    const auto made =
        make_strategy("dropcompute:20ms:parts=5", {.world = world, .learner = learner});
    EXPECT_EQ(made->parts(), 5);
    const std::vector<Duration> part{4ms, 10ms, 50ms};
    const std::vector<int> expected{5, 2, 1};
    EXPECT_EQ(take_parts(*made, learner, part[world.rank()], 15), expected[world.rank()]);
    // The mean over three ranks of 15 * parts done / 5.
    EXPECT_FLOAT_EQ(learner.weights()[1], -(15 + 6 + 3) / 3.0F);
    made->finish();
  });
}

TEST(DropCompute, ChoosesTheSameDeadlineOnAllRanksFromTwentySteps) {
  constexpr int kRanks = 4;
  with_ranks(kRanks, [](World& world) {
    VectorLearner learner(Vector(2));
    const auto made = make_strategy("dropcompute", {.world = world, .learner = learner});
    // One rank in turn is twenty times slower. Seconds, so that the exchange takes no time.
    const auto part = [&](int step) -> Duration {
      return step % kRanks == world.rank() ? 20s : 1s;
    };
    for (int step = 0; step < 20; ++step) {
      EXPECT_EQ(take_parts(*made, learner, part(step), 1), 4) << "it only looks at first";
    }
    // A slow rank does one part of 20 s; the others do all of theirs.
    for (int step = 20; step < 28; ++step) {
      const bool slow = step % kRanks == world.rank();
      EXPECT_EQ(take_parts(*made, learner, part(step), 1), slow ? 1 : 4) << step;
    }
    EXPECT_FALSE(made->enough(3500ms));
    EXPECT_TRUE(made->enough(20s));
    made->finish();
  });
}

TEST(DropCompute, ObservesStepsOfFewerPartsThanItAskedFor) {
  // A batch may have fewer samples than there are parts, on some ranks only.
  with_ranks(2, [](World& world) {
    VectorLearner learner(Vector(2));
    const auto made = make_strategy("dropcompute:parts=8", {.world = world, .learner = learner});
    const int parts = world.rank() == 0 ? 8 : 2;
    for (int step = 0; step < 20; ++step) {
      take_step(*made, learner, [&](auto, std::span<float> gradient) {
        std::ranges::fill(gradient, 0);
        for (int part = 1; part <= parts; ++part) made->enough(part * 1s);
      });
    }
    // Rank 0 takes 8 s, and rank 1 two: nothing is gained by a cut below.
    EXPECT_TRUE(made->enough(8s));
    made->finish();
  });
}

}  // namespace
}  // namespace syncopate::testing
