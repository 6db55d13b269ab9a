// Biased local SGD: how many local steps each rank takes, how its weights count in the average,
// and how both follow the step times. Times are what end_step() is told, so nothing here is timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr float kRate = 0.1F;
constexpr float kTolerance = 1e-4F;
const Numbers kInitial{1, -2, 3};

/// Steps of a rank before each of so many averages, given the time that each of them takes.
std::vector<int> steps_before_averages(Strategy& strategy, VectorLearner& learner, int averages,
                                       const std::function<Duration(std::size_t)>& time) {
  std::vector<int> steps(std::size_t(averages), 0);
  while (learner.told.size() < steps.size()) {
    const std::size_t round = learner.told.size();
    ++steps[round];
    take_step(
        strategy, learner, [](auto, std::span<float> gradient) { std::ranges::fill(gradient, 1); },
        time(round));
  }
  return steps;
}

TEST(BiasedLocalSteps, TakeTheSameTimeOnEveryRank) {
  const std::vector<Duration> times{1ms, 2ms, 6ms, 16ms, 100ms};
  const std::vector<int> expected{16, 8, 3, 1, 1};  // 16 ms, to the nearest; at least one.
  with_ranks(5, [&](World& world) {
    VectorLearner learner(Vector(3));
    const auto made = make_strategy("biased-local", {.world = world, .learner = learner});
    const auto steps =
        steps_before_averages(*made, learner, 4, [&](std::size_t) { return times[world.rank()]; });
    EXPECT_EQ(steps[0], 1) << "nothing is known before the first average";
    for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i], expected[world.rank()]);
    made->finish();
  });
}

TEST(BiasedLocalSteps, FollowSpeedsThatChange) {
  with_ranks(2, [&](World& world) {
    const bool changes = world.rank() == 1;
    VectorLearner learner(Vector(3));
    const auto made = make_strategy("biased-local:8", {.world = world, .learner = learner});
    // The median of the last steps: some steps later it has forgotten the old speed.
    const auto steps = steps_before_averages(*made, learner, 40, [&](std::size_t round) {
      return !changes ? 4ms : round < 20 ? 1ms : 32ms;
    });
    EXPECT_EQ(steps[19], changes ? 8 : 2);
    EXPECT_EQ(steps[39], changes ? 1 : 8);
    made->finish();
  });
}

TEST(BiasedLocalSteps, AreNotFooledByOneSlowStep) {
  with_ranks(2, [&](World& world) {
    VectorLearner learner(Vector(3));
    const auto made = make_strategy("biased-local:6", {.world = world, .learner = learner});
    int step = 0;
    const auto steps = steps_before_averages(*made, learner, 20, [&](std::size_t) -> Duration {
      return ++step % 6 == 0 && world.rank() == 0 ? 1s : 1ms;
    });
    for (std::size_t i = 1; i < steps.size(); ++i) EXPECT_EQ(steps[i], 6) << i;
    made->finish();
  });
}

/// Every rank's weights in one process: H_i steps each, then the mean by H_i^(1-alpha).
std::vector<Numbers> reference(const std::vector<int>& steps_of, double alpha, int averages) {
  const int ranks = int(steps_of.size());
  std::vector<Numbers> weights(ranks, kInitial);
  std::vector<int> taken(ranks);
  for (int round = 0; round < averages; ++round) {
    Numbers mean(kInitial.size());
    double total = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const int steps = round == 0 ? 1 : steps_of[rank];
      for (int step = 0; step < steps; ++step) {
        const Numbers gradient = some_gradient(rank, taken[rank]++, weights[rank]);
        for (std::size_t i = 0; i < mean.size(); ++i) weights[rank][i] -= kRate * gradient[i];
      }
      const double share = std::pow(steps, 1 - alpha);
      total += share;
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += share * weights[rank][i];
    }
    for (double& value : mean) value /= total;
    weights.assign(ranks, mean);
  }
  return weights;
}

TEST(BiasedLocalAverage, CountsARankByItsStepsToThePowerOfOneMinusAlpha) {
  const std::vector<Duration> times{1ms, 2ms, 8ms};
  const std::vector<int> steps_of{8, 4, 1};
  constexpr int kAverages = 5;
  for (const char* alpha : {"0", "0.5", "1"}) {
    SCOPED_TRACE(alpha);
    const auto expected = reference(steps_of, std::stod(alpha), kAverages);
    with_ranks(3, [&](World& world) {
      const int rank = world.rank();
      VectorLearner learner({kInitial.begin(), kInitial.end()}, {.rate = kRate});
      const auto made = make_strategy(std::string("biased-local:8:alpha=") + alpha,
                                      {.world = world, .learner = learner});
      for (int step = 0; learner.told.size() < kAverages; ++step) {
        take_step(
            *made, learner,
            [&](auto weights, std::span<float> gradient) {
              const Numbers fresh = some_gradient(rank, step, {weights.begin(), weights.end()});
              std::copy(fresh.begin(), fresh.end(), gradient.begin());
            },
            times[rank]);
      }
      for (std::size_t i = 0; i < kInitial.size(); ++i) {
        EXPECT_NEAR(learner.weights()[i], expected[rank][i], kTolerance) << i;
      }
      made->finish();
    });
  }
}

/// Takes batches of chosen samples for so many averages; the loss of a sample is its number.
std::vector<std::int64_t> take_samples(Strategy& strategy, VectorLearner& learner, int averages,
                                       std::size_t batch, Duration time) {
  std::vector<std::int64_t> taken;
  while (int(learner.told.size()) < averages) {
    const std::vector<std::int64_t> samples = strategy.choose(batch);
    EXPECT_EQ(samples.size(), batch);
    const Vector losses(samples.begin(), samples.end());
    strategy.note_losses(samples, losses);
    taken.insert(taken.end(), samples.begin(), samples.end());
    take_step(
        strategy, learner, [](auto, std::span<float> gradient) { std::ranges::fill(gradient, 0); },
        time);
  }
  return taken;
}

TEST(BiasedLocalSamples, OfSlowRanksHaveHighLossesAndThoseOfFastRanksDoNot) {
  constexpr int kSamples = 256;
  constexpr std::size_t kBatch = 4;
  std::vector<double> means(2);
  for (const bool biased : {true, false}) {
    with_ranks(2, [&](World& world) {
      VectorLearner learner(Vector(1));
      const auto made =
          make_strategy(biased ? "biased-local:8" : "biased-local:8:biased=off",
                        {.world = world, .learner = learner, .samples = kSamples, .batch = kBatch});
      if (!biased) {
        EXPECT_TRUE(made->choose(kBatch).empty()) << "the trainer chooses for itself";
        made->finish();
        return;
      }
      // The losses are known after a period, in which all ranks together take as many samples as
      // there are: 256 / (4 * 9) is 7 averages and a bit, and one was before the speeds were known.
      const bool slow = world.rank() == 1;
      take_samples(*made, learner, 10, kBatch, slow ? 8ms : 1ms);
      const auto later = take_samples(*made, learner, 60, kBatch, slow ? 8ms : 1ms);
      double sum = 0;
      for (const std::int64_t sample : later) sum += double(sample);
      means[world.rank()] = sum / double(later.size());
      made->finish();
    });
  }
  EXPECT_NEAR(means[0], kSamples / 2.0, kSamples / 16.0);
  // The best quarter of random candidates, by numbers that are even: seven eighths of the range.
  EXPECT_NEAR(means[1], kSamples * 7.0 / 8, kSamples / 16.0);
}

TEST(BiasedLocalSamples, AreNotChosenWhereTheirNumberIsNotKnown) {
  with_ranks(2, [&](World& world) {
    VectorLearner learner(Vector(1));
    const auto made = make_strategy("biased-local", {.world = world, .learner = learner});
    EXPECT_TRUE(made->choose(4).empty());
    made->finish();
  });
}

}  // namespace
}  // namespace syncopate::testing
