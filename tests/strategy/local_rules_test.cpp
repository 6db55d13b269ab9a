// Local steps with the mean of everyone's weights every H of them, and post-local SGD, which is
// synchronous until step T, against the formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"
#include "strategy/names.h"

namespace syncopate::testing {
namespace {

constexpr double kRate = 0.1;
constexpr float kTolerance = 1e-4F;
const Numbers kInitial{1, -2, 3};

/// Every rank's weights and velocity in one process.
struct Replicas {
  Replicas(int ranks, double momentum)
      : mu(momentum), weights(ranks, kInitial), velocity(ranks, Numbers(kInitial.size())) {}

  void step(int rank, const Numbers& gradient) {
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      velocity[rank][i] = mu * velocity[rank][i] + gradient[i];
      weights[rank][i] -= kRate * velocity[rank][i];
    }
  }

  static Numbers mean(const std::vector<Numbers>& values) {
    Numbers result(values.front().size());
    for (const Numbers& one : values) {
      for (std::size_t i = 0; i < one.size(); ++i) result[i] += one[i] / double(values.size());
    }
    return result;
  }

  void take_local_steps(int step) {
    for (int rank = 0; rank < int(weights.size()); ++rank) {
      this->step(rank, some_gradient(rank, step, weights[rank]));
    }
  }
  void take_the_same_step(int step) {
    std::vector<Numbers> gradients;
    for (int rank = 0; rank < int(weights.size()); ++rank) {
      gradients.push_back(some_gradient(rank, step, weights[rank]));
    }
    for (int rank = 0; rank < int(weights.size()); ++rank) this->step(rank, mean(gradients));
  }
  void average() { weights.assign(weights.size(), mean(weights)); }

  double mu;
  std::vector<Numbers> weights;
  std::vector<Numbers> velocity;
};

/// Weights of every rank after each step, and after finish().
using RunProgress = std::vector<std::vector<Numbers>>;

void expect_course(const std::string& strategy, int ranks, double momentum,
                   const RunProgress& course, std::size_t exchanges) {
  SCOPED_TRACE(strategy + " with " + std::to_string(ranks) + " ranks");
  with_ranks(ranks, [&](World& world) {
    const int rank = world.rank();
    VectorLearner learner({kInitial.begin(), kInitial.end()},
                          {.rate = float(kRate), .momentum = float(momentum)});
    const auto made = make_strategy(strategy, {.world = world, .learner = learner});
    const auto expect_weights = [&](const std::vector<Numbers>& expected) {
      for (std::size_t i = 0; i < kInitial.size(); ++i) {
        ASSERT_NEAR(learner.weights()[i], expected[rank][i], kTolerance) << i;
      }
    };
    for (int step = 0; step + 1 < int(course.size()); ++step) {
      SCOPED_TRACE(step);
      dawdle((rank * 7 + step * 3) % 5, unsigned(step));
      take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
        const Numbers fresh = some_gradient(rank, step, {weights.begin(), weights.end()});
        std::copy(fresh.begin(), fresh.end(), gradient.begin());
      });
      expect_weights(course[step]);
    }
    made->finish();
    EXPECT_TRUE(learner.keeps_its_own_weights());
    expect_weights(course.back());
    ASSERT_EQ(learner.told.size(), exchanges);
    for (std::size_t i = 0; i < exchanges; ++i) {
      const Exchange& exchange = learner.told[i].exchange;
      EXPECT_EQ(exchange.number, i + 1);
      EXPECT_EQ(exchange.contributors, ranks);
      EXPECT_EQ(exchange.mass, 1);
      EXPECT_TRUE(exchange.agreed && exchange.included);
    }
  });
}

class LocalRule : public ::testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(LocalRule, AveragesAllWeightsEveryHStepsAndAtTheEnd) {
  for (const double momentum : {0.0, 0.9}) {
    for (const int every : {1, 3, 5}) {
      constexpr int kSteps = 15;
      Replicas replicas(ranks(), momentum);
      RunProgress course;
      for (int step = 0; step < kSteps + every / 2; ++step) {
        replicas.take_local_steps(step);
        if ((step + 1) % every == 0) replicas.average();
        course.push_back(replicas.weights);
      }
      if (every > 1) replicas.average();
      course.push_back(replicas.weights);
      expect_course("local:" + std::to_string(every), ranks(), momentum, course,
                    std::size_t(kSteps / every + (every > 1 ? 1 : 0)));
    }
  }
}

TEST_P(LocalRule, PostLocalIsSynchronousUntilStepT) {
  for (const double momentum : {0.0, 0.9}) {
    for (const int until : {1, 4}) {
      constexpr int kEvery = 3, kLocalSteps = 9;
      Replicas replicas(ranks(), momentum);
      RunProgress course;
      for (int step = 0; step < until + kLocalSteps; ++step) {
        if (step < until) {
          replicas.take_the_same_step(step);
        } else {
          replicas.take_local_steps(step);
          if ((step - until + 1) % kEvery == 0) replicas.average();
        }
        course.push_back(replicas.weights);
      }
      course.push_back(replicas.weights);
      expect_course("post-local:" + std::to_string(until) + ":" + std::to_string(kEvery), ranks(),
                    momentum, course, std::size_t(until + kLocalSteps / kEvery));
    }
  }
}

TEST_P(LocalRule, PostLocalThatEndsEarlyIsSynchronous) {
  Replicas replicas(ranks(), 0.9);
  RunProgress course;
  for (int step = 0; step < 5; ++step) {
    replicas.take_the_same_step(step);
    course.push_back(replicas.weights);
  }
  course.push_back(replicas.weights);
  expect_course("post-local:100:3", ranks(), 0.9, course, 5);
}

INSTANTIATE_TEST_SUITE_P(Ranks, LocalRule, ::testing::Values(1, 2, 3, 4, 8), name_by_ranks);

TEST(Hasten, MakesRanksMeetThoughItIsNotTimeYet) {
  for (const char* strategy : {"local:1000", "post-local:1:1000", "biased-local:1000"}) {
    SCOPED_TRACE(strategy);
    with_ranks(3, [&](World& world) {
      VectorLearner learner(Vector(4, 1.0F));
      const auto made = make_strategy(strategy, {.world = world, .learner = learner});
      const auto step = [&] {
        take_step(
            *made, learner,
            [&](auto, std::span<float> gradient) {
              std::ranges::fill(gradient, float(world.rank()));
            },
            std::chrono::milliseconds(1));
      };
      for (int i = 0; i < 5; ++i) step();
      const std::size_t before = learner.told.size();
      made->hasten();
      step();
      EXPECT_EQ(learner.told.size(), before + 1);
      step();
      EXPECT_LE(learner.told.size(), before + 1) << "once";
      made->finish();
    });
  }
}

TEST(Finish, LeavesEqualWeightsWhereverTheRanksStopped) {
  // Data may end at different steps; what each rank has done since the last average counts.
  for (const char* strategy : {"sync", "eager-solo", "eager-quorum:2", "m-sync:2", "local:4",
                               "wagma:2:5", "biased-local:4", "dropcompute"}) {
    for (const auto& [least, more] : {std::pair{18, 3}, {20, 5}, {20, 20}, {20, 0}}) {
      SCOPED_TRACE(strategy + std::string(" from ") + std::to_string(least));
      constexpr int kRanks = 3;
      std::vector<Vector> ends(kRanks);
      with_ranks(kRanks, [&, least = least, more = more](World& world) {
        VectorLearner learner(Vector(4, 1.0F));
        const auto made = make_strategy(strategy, {.world = world, .learner = learner});
        for (int step = 0; step < least + more * world.rank(); ++step) {
          take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
            const Numbers fresh =
                some_gradient(world.rank(), step, {weights.begin(), weights.end()});
            std::copy(fresh.begin(), fresh.end(), gradient.begin());
          });
        }
        made->finish();
        EXPECT_TRUE(learner.keeps_its_own_weights());
        ends[world.rank()] = to_vector(learner.weights());
      });
      for (const Vector& end : ends) EXPECT_EQ(end, ends[0]);
      EXPECT_NE(ends[0], Vector(4, 1.0F));
    }
  }
}

}  // namespace
}  // namespace syncopate::testing
