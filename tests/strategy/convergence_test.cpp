// Every strategy comes to the optimum, with any number of ranks, while one of them is slow or all
// are slow now and then. The distances are stated here; how fast it goes is not a test's business.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <tuple>

#include "strategy/names.h"
#include "strategy/play.h"
#include "strategy/problems.h"
#include "support/crew.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

enum class Imbalance { slow_rank, random };
constexpr int kSlower = 4;

/// How long a rank is away before a step; and what it says how long that was.
class Delay {
 public:
  Delay(Imbalance imbalance, int rank) : imbalance_(imbalance), rank_(rank), random_(rank + 1) {}

  Duration be_slow() {
    int factor = imbalance_ == Imbalance::slow_rank && rank_ == 0 ? kSlower : 1;
    if (imbalance_ == Imbalance::random && random_() % 4 == 0) factor = kSlower;
    dawdle(factor, unsigned(random_()));
    return factor * 1ms;
  }

 private:
  Imbalance imbalance_;
  int rank_;
  std::minstd_rand random_;
};

/// "K" in a strategy stands for half of the ranks and one, at most all.
std::string for_ranks(std::string strategy, int ranks) {
  if (const auto place = strategy.find(":K"); place != std::string::npos) {
    strategy.replace(place + 1, 1, std::to_string(std::min(ranks, ranks / 2 + 1)));
  }
  return strategy;
}

bool exchanges_gradients(const std::string& strategy) {
  return strategy.starts_with("sync") || strategy.starts_with("eager") ||
         strategy.starts_with("m-sync") || strategy.starts_with("drop");
}

class Convergence : public ::testing::TestWithParam<std::tuple<const char*, int>> {
 protected:
  int ranks() const { return std::get<1>(GetParam()); }
  std::string strategy() const { return for_ranks(std::get<0>(GetParam()), ranks()); }
  /// Averages with weights that others published long ago hold WAGMA back, above all where late
  /// ranks do not keep their steps.
  int patience() const {
    if (!strategy().starts_with("wagma") || ranks() == 1) return 1;
    return strategy().ends_with("late=average") ? 5 : 3;
  }
};

/// Computes a step in parts, as long as the strategy wants more of them.
template <typename Add>
void compute(Strategy& strategy, std::span<float> gradient, Duration time, const Add& add_part) {
  std::ranges::fill(gradient, 0);
  for (int part = 0; part < strategy.parts(); ++part) {
    add_part(part, strategy.parts());
    if (strategy.enough(time * (part + 1) / strategy.parts())) break;
  }
}

TEST_P(Convergence, OnAQuadraticToAThousandth) {
  const Quadratic problem;
  for (const Imbalance imbalance : {Imbalance::slow_rank, Imbalance::random}) {
    with_ranks(ranks(), [&](World& world) {
      Delay delay(imbalance, world.rank());
      VectorLearner learner(Vector(problem.optimum().size()), {.rate = 0.1F, .momentum = 0.5F});
      const auto made = make_strategy(strategy(), {.world = world, .learner = learner});
      for (int step = 0; step < 120 * patience(); ++step) {
        const Duration time = delay.be_slow();
        take_step(
            *made, learner,
            [&](auto weights, std::span<float> gradient) {
              compute(*made, gradient, time, [&](int part, int parts) {
                Vector whole(gradient.size());
                problem.add_gradient(world.rank() + part, weights, whole);
                for (std::size_t i = 0; i < whole.size(); ++i) gradient[i] += whole[i] / parts;
              });
            },
            time);
      }
      made->finish();
      EXPECT_LT(distance(learner.weights(), problem.optimum()), 1e-3);
    });
  }
}

TEST_P(Convergence, OnLogisticRegressionWithinItsNoise) {
  static const Logistic problem;
  constexpr int kBatch = 8;
  // Biased samples have an optimum of their own, near that of all.
  const bool biased = strategy() == "biased-local:8";
  const double allowed = biased ? 0.6 : 0.2;
  ASSERT_GT(distance(problem.optimum(), Vector(Logistic::kWeights)), 1.3);
  with_ranks(ranks(), [&](World& world) {
    Delay delay(Imbalance::slow_rank, world.rank());
    std::minstd_rand random(unsigned(world.rank() + 1));
    VectorLearner learner(Vector(Logistic::kWeights), {.rate = 0.2F, .momentum = 0.5F});
    double done = 0;  // In steps of the whole world, or of this rank.
    const auto slow_down = [&] { learner.set_rate(0.2F / float(1 + done / (30 * patience()))); };
    learner.on_exchange = [&](const VectorLearner::Told& told) {
      if (!exchanges_gradients(strategy())) return;
      done += told.exchange.mass;
      slow_down();
    };
    const auto made = make_strategy(
        strategy(),
        {.world = world, .learner = learner, .samples = Logistic::kSamples, .batch = kBatch});
    for (int step = 0; step < 200 * patience(); ++step) {
      const Duration time = delay.be_slow();
      std::vector<std::int64_t> samples = made->choose(kBatch);
      while (samples.size() < kBatch) samples.push_back(random() % Logistic::kSamples);
      take_step(
          *made, learner,
          [&](auto weights, std::span<float> gradient) {
            Vector losses;
            compute(*made, gradient, time, [&](int part, int parts) {
              for (int i = kBatch * part / parts; i < kBatch * (part + 1) / parts; ++i) {
                losses.push_back(
                    problem.add_gradient(samples[i], weights, 1.0F / kBatch, gradient));
              }
            });
            made->note_losses({samples.data(), losses.size()}, losses);
          },
          time);
      if (exchanges_gradients(strategy())) continue;
      ++done;
      slow_down();
    }
    made->finish();
    EXPECT_LT(distance(learner.weights(), problem.optimum()), allowed);
  });
}

INSTANTIATE_TEST_SUITE_P(
    , Convergence,
    ::testing::Combine(::testing::Values("sync", "eager-solo", "eager-solo:grace=off",
                                         "eager-solo:grace=off:anticipate=off:momentum-by-mass=off",
                                         "eager-majority", "eager-majority:grace=off",
                                         "eager-quorum:K", "m-sync:K", "dropcompute", "wagma",
                                         "wagma:K:5", "wagma:late=average", "local:5",
                                         "post-local:30:5", "biased-local:8",
                                         "biased-local:8:biased=off"),
                       ::testing::Values(1, 2, 3, 4, 8)),
    name_by_both);

}  // namespace
}  // namespace syncopate::testing
