// WAGMA's update rule under scripted orders of arrival, against the formula: a local step, then
// Σ/S over the group if our weights were in the sum, else (Σ + W')/(S + 1), or Σ/S and the steps
// that we have taken since the copy in it; every TAU steps the mean of everyone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "round/groups.h"
#include "strategy/gradient_reference.h"
#include "strategy/learner.h"

namespace syncopate::testing {
namespace {

constexpr double kRate = 0.1;
constexpr float kTolerance = 1e-4F;
constexpr std::uint64_t kSeed = 5;
const Numbers kInitial{1, -2, 3};

class WagmaReference {
 public:
  struct Outcome {
    Numbers weights;
    bool included = false;
    bool everyone = false;
    int members = 0;
  };

  WagmaReference(int ranks, int group, int tau, bool keeps)
      : tau_(tau),
        keeps_(keeps),
        schedule_(ranks, group, true, kSeed),
        weights_(ranks, kInitial),
        published_(ranks, {kInitial, 0}),
        taken_(ranks),
        outcomes_(ranks) {}

  Turn choose_turn(std::minstd_rand& random) const {
    Turn everyone;
    for (int rank = 0; rank < int(weights_.size()); ++rank) {
      if (everyone_at(step_of(rank) + 1)) everyone.push_back(rank);
    }
    if (everyone.size() == weights_.size()) return everyone;
    for (;;) {
      const int rank = int(random() % weights_.size());
      if (!everyone_at(step_of(rank) + 1)) return {rank};
    }
  }

  void play(const Turn& turn) {
    for (const int rank : turn) {
      const Numbers gradient = some_gradient(rank, step_of(rank), weights_[rank]);
      taken_[rank].push_back(gradient);
      for (std::size_t i = 0; i < gradient.size(); ++i) weights_[rank][i] -= kRate * gradient[i];
      published_[rank] = {weights_[rank], step_of(rank) + 1};
    }
    for (const int rank : turn) merge(rank, step_of(rank) + 1);
  }

  /// What `rank` had after `step` (1, 2, 3 …).
  const Outcome& outcome(int rank, int step) const { return outcomes_[rank].at(step - 1); }
  int step_of(int rank) const { return int(outcomes_[rank].size()); }

 private:
  struct Publication {
    Numbers weights;
    int step;
  };
  struct Group {
    Numbers sum;
    std::vector<Publication> copies;  ///< Of every rank, when the sum was made.
  };

  bool everyone_at(int step) const { return step % tau_ == 0; }

  void merge(int rank, int step) {
    std::vector<int> members = schedule_.members(step - 1, rank);
    if (everyone_at(step)) {
      members.clear();
      for (int other = 0; other < int(weights_.size()); ++other) members.push_back(other);
    }
    const bool first = !groups_.contains({step, members});
    Group& group = groups_[{step, members}];
    Numbers& sum = group.sum;
    if (first) {
      group.copies = published_;
      sum = Numbers(kInitial.size());
      for (const int member : members) {
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += published_[member].weights[i];
      }
    }
    const Publication& copy = group.copies[rank];
    const bool included = first || everyone_at(step);
    const double count = double(members.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double& weight = weights_[rank][i];
      if (included) {
        weight = sum[i] / count;
      } else if (keeps_) {
        weight = sum[i] / count;
        for (int own = copy.step; own < step; ++own) weight -= kRate * taken_[rank][own][i];
      } else {
        weight = (sum[i] + weight) / (count + 1);
      }
    }
    outcomes_[rank].push_back({weights_[rank], included, everyone_at(step), int(count)});
  }

  int tau_;
  bool keeps_;
  round::GroupSchedule schedule_;
  std::vector<Numbers> weights_;
  std::vector<Publication> published_;
  std::map<std::pair<int, std::vector<int>>, Group> groups_;
  std::vector<std::vector<Numbers>> taken_;  ///< The gradients of each rank's steps.
  std::vector<std::vector<Outcome>> outcomes_;
};

void expect_the_rule(int ranks, int group, int tau, unsigned seed, bool keeps) {
  const std::string strategy =
      "wagma:" + std::to_string(group) + ":" + std::to_string(tau) + (keeps ? "" : ":late=average");
  SCOPED_TRACE(strategy + " with " + std::to_string(ranks) + " ranks, seed " +
               std::to_string(seed));
  WagmaReference reference(ranks, group, tau, keeps);
  std::minstd_rand random(seed);
  Script script;
  for (int turn = 0; turn < 80; ++turn) {
    script.push_back(reference.choose_turn(random));
    reference.play(script.back());
  }
  Play play(script);
  with_ranks(ranks, [&](World& world) {
    const int rank = world.rank();
    VectorLearner learner({kInitial.begin(), kInitial.end()}, {.rate = float(kRate)});
    const auto made = make_strategy(strategy, {.world = world, .learner = learner, .seed = kSeed});
    int step = 0;
    play.take_part(rank, [&] {
      take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
        const Numbers fresh = some_gradient(rank, step, {weights.begin(), weights.end()});
        std::copy(fresh.begin(), fresh.end(), gradient.begin());
      });
      SCOPED_TRACE("rank " + std::to_string(rank) + " at step " + std::to_string(++step));
      const WagmaReference::Outcome& expected = reference.outcome(rank, step);
      const Exchange& told = learner.told.back().exchange;
      EXPECT_EQ(told.number, std::uint64_t(step));
      EXPECT_EQ(told.included, expected.included);
      EXPECT_EQ(told.agreed, expected.everyone);
      EXPECT_EQ(told.contributors, expected.members);
      for (std::size_t i = 0; i < kInitial.size(); ++i) {
        ASSERT_NEAR(learner.weights()[i], expected.weights[i], kTolerance) << i;
      }
    });
    made->finish();
    EXPECT_TRUE(learner.keeps_its_own_weights());
  });
}

TEST(WagmaRule, AGroupHasTheLatestWeightsOfEachAndTheLateMergeTheirOwn) {
  for (const bool keeps : {true, false}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      expect_the_rule(1, 1, 3, seed, keeps);
      expect_the_rule(2, 2, 4, seed, keeps);
      expect_the_rule(3, 2, 5, seed, keeps);
      expect_the_rule(4, 2, 4, seed, keeps);
      expect_the_rule(6, 2, 7, seed, keeps);
      expect_the_rule(8, 4, 6, seed, keeps);
      expect_the_rule(8, 2, 20, seed, keeps);
    }
  }
}

TEST(WagmaRule, GroupsOfTwoAreByTheLastBitOfTheRankAndThenByTheOneBefore) {
  // {0,1} {2,3}, then {0,2} {1,3}. Each rank moves the weight that is its own, so that the weights
  // tell whom it has heard of.
  using Heard = std::set<int>;
  const std::vector<std::vector<Heard>> expected{{{0}, {0, 1}, {2}, {2, 3}},
                                                 {{0, 2}, {0, 1, 3}, {0, 2}, {0, 1, 2, 3}}};
  Play play({{0}, {1}, {2}, {3}, {0}, {1}, {2}, {3}});
  with_ranks(4, [&](World& world) {
    const int rank = world.rank();
    VectorLearner learner(Vector(4));
    const auto made =
        make_strategy("wagma:2:10:late=average", {.world = world, .learner = learner});
    int step = 0;
    play.take_part(rank, [&] {
      take_step(*made, learner, [&](auto, std::span<float> gradient) {
        for (int i = 0; i < 4; ++i) gradient[i] = i == rank ? -1.0F : 0.0F;
      });
      Heard heard;
      for (int i = 0; i < 4; ++i) {
        if (learner.weights()[i] != 0) heard.insert(i);
      }
      EXPECT_EQ(heard, expected[step++][rank]);
    });
    made->finish();
  });
}

TEST(WagmaRule, FinishTakesTheMeanOfEveryone) {
  for (const int steps : {3, 4}) {  // In the middle of TAU, and at its end.
    with_ranks(3, [&](World& world) {
      VectorLearner learner({float(10 * world.rank()), 1}, {.rate = 1});
      const auto made = make_strategy(
          "wagma:1:4", {.world = world, .learner = learner, .start = Start::as_they_are});
      for (int step = 0; step < steps; ++step) {
        take_step(*made, learner, [&](auto, std::span<float> gradient) {
          gradient[0] = -float(world.rank());
          gradient[1] = 0;
        });
      }
      made->finish();
      EXPECT_FLOAT_EQ(learner.weights()[0], float(10 + steps));
      EXPECT_EQ(learner.weights()[1], 1);
      // Where everyone has just met there is nothing more to tell.
      EXPECT_EQ(learner.told.size(), 4U);
      EXPECT_TRUE(learner.told.back().exchange.agreed);
    });
  }
}

}  // namespace
}  // namespace syncopate::testing
