// The three corrections: momentum by mass, anticipation, grace. Each does what its formula says,
// and without them the plain rule is back, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

/// Rank 0 takes `fast` steps for each one of rank 1, so many times over.
Script one_slow_rank(int fast, int times) {
  Script script;
  for (int i = 0; i < times; ++i) {
    for (int step = 0; step < fast; ++step) script.push_back({0});
    script.push_back({1});
  }
  return script;
}

void write_ones(std::span<const float>, std::span<float> gradient) {
  std::ranges::fill(gradient, 1);
}

constexpr float kRate = 0.1F, kMomentum = 0.7F;

/// One of several ranks gives all gradients, so that each round has mass 1/P: where the weight is
/// after each round.
std::vector<double> course_of_one(int ranks, int rounds, bool by_mass,
                                  const std::function<float(int)>& gradient_of) {
  std::vector<double> course;
  Play play(Script(std::size_t(rounds), Turn{0}));
  with_ranks(ranks, [&](World& world) {
    VectorLearner learner(Vector(1), {.rate = kRate, .momentum = kMomentum});
    const auto made = make_strategy(std::string("eager-solo:grace=off:anticipate=off:window=250") +
                                        (by_mass ? "" : ":momentum-by-mass=off"),
                                    {.world = world, .learner = learner});
    play.take_part(world.rank(), [&] {
      take_step(*made, learner, [&](auto, std::span<float> gradient) {
        gradient[0] = gradient_of(int(course.size()));
      });
      course.push_back(learner.weights()[0]);
      EXPECT_DOUBLE_EQ(learner.masses.back(), by_mass ? 1.0 / ranks : 1);
    });
    made->finish();
  });
  return course;
}

TEST(MomentumByMass, MovesAsFarPerGradientAsSynchronousTraining) {
  for (const int ranks : {1, 2, 3, 8}) {
    const auto course = course_of_one(ranks, 240, true, [](int) { return 1.0F; });
    const double per_round = (course[159] - course[239]) / 80;
    EXPECT_NEAR(per_round, kRate / (1 - kMomentum) / ranks, 0.01 / ranks) << ranks;
  }
}

TEST(MomentumByMass, RemembersForAsManyGradientsAsSynchronousTraining) {
  // One gradient and then none: what it has moved the weights by after as many gradients as make
  // k synchronous steps is what it would have in those.
  for (const int ranks : {1, 2, 3, 8}) {
    const auto once = [](int round) { return round == 0 ? 1.0F : 0.0F; };
    const auto by_mass = course_of_one(ranks, 10 * ranks, true, once);
    const auto plain = course_of_one(ranks, 10 * ranks, false, once);
    const auto expected = [&](int steps) {
      return -kRate / ranks * (1 - std::pow(kMomentum, steps)) / (1 - kMomentum);
    };
    for (int steps = 1; steps <= 10; ++steps) {
      EXPECT_NEAR(by_mass[steps * ranks - 1], expected(steps), 1e-5) << ranks << " " << steps;
      EXPECT_NEAR(plain[steps * ranks - 1], expected(steps * ranks), 1e-5) << ranks;
    }
  }
}

TEST(Anticipate, ExpectsTheMassThatIsSteppedBeforeTheGradientsAreTakenOnAverage) {
  // Each gradient of rank 1 is taken five rounds after the model it was computed on; each one of
  // rank 0 at once. The first of these rounds holds a gradient of both, and the others one of rank
  // 0: half a step, or a whole one where mass is not counted.
  constexpr int kFast = 5;
  for (const auto& [rule, mass] : {std::pair<std::string, double>{"", 1 + 0.5 * (kFast - 1)},
                                   {":momentum-by-mass=off", kFast}}) {
    Play play(one_slow_rank(kFast, 40));
    with_ranks(2, [&, rule = rule, mass = mass](World& world) {
      VectorLearner learner(Vector(3));
      const auto made = make_strategy("eager-solo:grace=off:ahead=0" + rule,
                                      {.world = world, .learner = learner});
      play.take_part(world.rank(), [&] { take_step(*made, learner, write_ones); });
      EXPECT_EQ(learner.anticipated.front(), 0);
      EXPECT_NEAR(learner.anticipated.back(), world.rank() == 0 ? 0 : mass, 0.01);
      EXPECT_TRUE(std::ranges::is_sorted(learner.anticipated));
      made->finish();
    });
  }
}

TEST(Anticipate, CountsEachOfSeveralGradientsThatARoundTakes) {
  // Rank 1 comes twice in a row. Its first gradient is two rounds late; the second is computed on
  // the newest model and starts the round that takes both.
  Script script;
  for (int i = 0; i < 60; ++i) script.insert(script.end(), {{0}, {0}, {0}, {1}, {1}});
  Play play(script);
  with_ranks(2, [&](World& world) {
    VectorLearner learner(Vector(3));
    const auto made =
        make_strategy("eager-solo:grace=off:ahead=0", {.world = world, .learner = learner});
    play.take_part(world.rank(), [&] { take_step(*made, learner, write_ones); });
    if (world.rank() == 1) {
      EXPECT_NEAR(learner.anticipated.back(), (2 + 0) / 2.0 * 0.5, 0.2);
    }
    made->finish();
  });
}

TEST(Anticipate, ExpectsNoMoreThanTheWindow) {
  Play play(one_slow_rank(3, 60));
  with_ranks(2, [&](World& world) {
    VectorLearner learner(Vector(3));
    const auto made = make_strategy("eager-solo:grace=off:ahead=0:window=3",
                                    {.world = world, .learner = learner});
    play.take_part(world.rank(), [&] { take_step(*made, learner, write_ones); });
    EXPECT_LE(learner.anticipated.back(), 3);
    made->finish();
  });
}

TEST(Anticipate, GoesAsManyStepsFurtherAsAskedWhereThereIsMomentum) {
  for (const auto& [strategy, ahead] : {std::pair<const char*, double>{"eager-solo:grace=off", 2},
                                        {"eager-solo:grace=off:ahead=3.5", 3.5},
                                        {"eager-solo:grace=off:anticipate=off:ahead=3.5", 0},
                                        {"m-sync:1", 0},
                                        {"m-sync:1:ahead=2.5", 2.5},
                                        {"sync:ahead=1.5", 1.5}}) {
    for (const int ranks : {1, 2}) {
      for (const float momentum : {0.9F, 0.0F}) {
        with_ranks(ranks, [&, strategy = strategy, ahead = ahead](World& world) {
          VectorLearner learner(Vector(3), {.rate = 0.1F, .momentum = momentum});
          const auto made = make_strategy(strategy, {.world = world, .learner = learner});
          take_step(*made, learner, write_ones);
          made->finish();
          // Without momentum the last step says nothing of the next; alone it is the plain rule.
          const double expected = momentum > 0 && ranks > 1 ? ahead : 0;
          EXPECT_EQ(learner.anticipated.empty() ? 0 : learner.anticipated.front(), expected)
              << strategy << " " << ranks << " " << momentum;
        });
      }
    }
  }
}

TEST(Anticipate, ComputesAheadAlongTheLastStepAndLeavesTheWeightsExact) {
  Play play(one_slow_rank(4, 25));
  with_ranks(2, [&](World& world) {
    VectorLearner learner({1, -2, 3}, {.rate = 0.1F, .momentum = 0.9F});
    const auto made = make_strategy("eager-solo:grace=off", {.world = world, .learner = learner});
    std::vector<Vector> history{to_vector(learner.weights())};
    learner.on_exchange = [&](const auto&) { history.push_back(to_vector(learner.weights())); };
    play.take_part(world.rank(), [&] {
      take_step(*made, learner, [&](std::span<const float> weights, std::span<float> gradient) {
        const Vector master = to_vector(learner.weights());
        ASSERT_EQ(master, history.back()) << "anticipation has moved the weights";
        const Vector& previous = history[history.size() - (history.size() > 1 ? 2 : 1)];
        const double last = learner.masses.empty() ? 1 : learner.masses.back();
        const auto times = float(learner.anticipated.back() / last);
        for (std::size_t i = 0; i < master.size(); ++i) {
          EXPECT_EQ(weights[i], master[i] + times * (master[i] - previous[i]));
          gradient[i] = weights[i];
        }
      });
    });
    made->finish();
  });
}

/// The weights of rank 0 after every round of a script, computed with some strategy.
std::vector<Vector> history_of(const std::string& strategy, const Script& script) {
  std::vector<Vector> history;
  Play play(script);
  with_ranks(2, [&](World& world) {
    VectorLearner learner({1, -2, 3}, {.rate = 0.1F, .momentum = 0.9F});
    const auto made = make_strategy(strategy, {.world = world, .learner = learner});
    if (world.rank() == 0) {
      learner.on_exchange = [&](const auto&) { history.push_back(to_vector(learner.weights())); };
    }
    int step = 0;
    play.take_part(world.rank(), [&] {
      take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
        const Numbers fresh = some_gradient(world.rank(), step++, {weights.begin(), weights.end()});
        std::copy(fresh.begin(), fresh.end(), gradient.begin());
      });
    });
    made->finish();
    if (strategy.find("anticipate=off") != std::string::npos) {
      EXPECT_TRUE(learner.anticipated.empty());
    }
  });
  return history;
}

/// The plain rule in floats: the sum in the order of ranks, its half, then SGD with momentum.
std::vector<Vector> plain_history(const Script& script) {
  VectorLearner learner({1, -2, 3}, {.rate = 0.1F, .momentum = 0.9F});
  std::vector<Vector> models{to_vector(learner.weights())};
  std::vector<std::size_t> seen(2);
  std::vector<int> steps(2);
  std::vector<Vector> board(2, Vector(3));
  const auto run_round = [&] {
    Vector mean(3);
    for (std::size_t i = 0; i < 3; ++i) mean[i] = (board[0][i] + board[1][i]) * 0.5F;
    board.assign(2, Vector(3));
    learner.step(mean, 1);
    models.push_back(to_vector(learner.weights()));
  };
  for (const Turn& turn : script) {
    const int rank = turn.front();
    const Vector& at = models[seen[rank]];
    const Numbers fresh = some_gradient(rank, steps[rank]++, {at.begin(), at.end()});
    for (std::size_t i = 0; i < 3; ++i) board[rank][i] += float(fresh[i]);
    if (seen[rank] + 1 == models.size()) run_round();
    seen[rank] = models.size() - 1;
  }
  run_round();
  return {models.begin() + 1, models.end()};
}

TEST(Corrections, OffIsThePlainRuleBitForBit) {
  const Script script = one_slow_rank(4, 25);
  const auto plain = history_of("eager-solo:grace=off:anticipate=off:momentum-by-mass=off", script);
  EXPECT_EQ(plain, plain_history(script));
  for (const char* one :
       {"eager-solo:grace=off:momentum-by-mass=off", "eager-solo:grace=off:anticipate=off"}) {
    EXPECT_NE(plain, history_of(one, script)) << one;
  }
}

TEST(Corrections, GraceKeepsARoundOpenForThoseWhoAreOnTheirWay) {
  // An hour, so that only everyone's arrival can end it: then every round has everyone.
  for (const char* strategy :
       {"eager-solo:grace=3600s", "eager-majority:grace=3600s", "eager-quorum:1:grace=3600s"}) {
    with_ranks(3, [&](World& world) {
      VectorLearner learner(Vector(3));
      const auto made = make_strategy(strategy, {.world = world, .learner = learner});
      for (int step = 0; step < 20; ++step) {
        dawdle(world.rank(), unsigned(step));
        take_step(*made, learner, write_ones);
      }
      made->finish();
      EXPECT_EQ(learner.told.size(), 20U);
      for (const auto& told : learner.told) EXPECT_EQ(told.exchange.contributors, 3);
    });
  }
}

TEST(Corrections, GraceOfWagmaKeepsAGroupOpen) {
  with_ranks(4, [&](World& world) {
    VectorLearner learner(Vector(3));
    const auto made = make_strategy("wagma:2:10:grace=3600s", {.world = world, .learner = learner});
    for (int step = 0; step < 20; ++step) {
      dawdle(world.rank(), unsigned(step));
      take_step(*made, learner, write_ones);
      EXPECT_TRUE(learner.told.back().exchange.included);
      EXPECT_EQ(learner.told.back().exchange.staleness, 0U);
    }
    made->finish();
  });
}

}  // namespace
}  // namespace syncopate::testing
