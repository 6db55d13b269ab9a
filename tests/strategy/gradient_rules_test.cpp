// The update rules of the strategies that exchange gradients, under scripted orders of arrival,
// against a plain reference: who is in which round, by what it is divided, and every model that
// comes out of it.
#include <gtest/gtest.h>

#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"
#include "strategy/names.h"

namespace syncopate::testing {
namespace {

constexpr std::size_t kSize = 5;
constexpr float kTolerance = 1e-4F;
const Numbers kInitial{1, -2, 3, 0.5, -0.25};

/// One rank's part: its gradients are those of the reference, and what it is told is compared.
class Actor {
 public:
  Actor(const World& world, const std::string& strategy, const ReferenceRule& rule,
        const GradientReference& reference)
      : rank_(world.rank()),
        ranks_(world.size()),
        reference_(reference),
        learner_(Vector(kInitial.begin(), kInitial.end()),
                 {.rate = float(rule.rate), .momentum = float(rule.momentum)}) {
    learner_.on_exchange = [this](const VectorLearner::Told& told) { compare(told.exchange); };
    strategy_ = make_strategy(strategy, {.world = world, .learner = learner_, .seed = 5});
  }

  void step() {
    take_step(*strategy_, learner_, [&](auto weights, std::span<float> gradient) {
      const Numbers fresh = some_gradient(rank_, steps_++, {weights.begin(), weights.end()});
      std::copy(fresh.begin(), fresh.end(), gradient.begin());
    });
  }

  void finish() {
    strategy_->finish();
    std::uint64_t dropped = 0;
    for (const auto& told : learner_.told) dropped += told.exchange.dropped;
    EXPECT_EQ(dropped, std::uint64_t(reference_.dropped()));
    expect_weights(reference_.rounds());
  }

 private:
  void compare(const Exchange& exchange) {
    ASSERT_EQ(exchange.number, ++rounds_) << "a round was skipped or told twice";
    ASSERT_LE(exchange.number, reference_.rounds());
    const ReferenceRound& expected = reference_.round(exchange.number);
    SCOPED_TRACE(exchange.number);
    EXPECT_TRUE(exchange.agreed);
    EXPECT_EQ(exchange.contributors, int(expected.contributors.size()));
    EXPECT_EQ(exchange.included, expected.contributors.contains(rank_));
    EXPECT_FLOAT_EQ(float(exchange.mass), float(expected.gradients) / float(ranks_));
    EXPECT_EQ(exchange.staleness, expected.staleness);
    expect_weights(exchange.number);
  }

  void expect_weights(std::uint64_t round) {
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(learner_.weights()[i], reference_.round(round).weights[i], kTolerance) << i;
    }
  }

  int rank_;
  int ranks_;
  const GradientReference& reference_;
  VectorLearner learner_;
  std::unique_ptr<Strategy> strategy_;
  int steps_ = 0;
  std::uint64_t rounds_ = 0;
};

void expect_the_rule(const std::string& strategy, int ranks, const Script& script,
                     const ReferenceRule& rule) {
  SCOPED_TRACE(strategy + " with " + std::to_string(ranks) + " ranks");
  GradientReference reference(ranks, kInitial, rule, some_gradient);
  for (const Turn& turn : script) reference.play(turn);
  reference.finish();
  Play play(script);
  with_ranks(ranks, [&](World& world) {
    Actor actor(world, strategy, rule, reference);
    play.take_part(world.rank(), [&] { actor.step(); });
    actor.finish();
  });
}

Script random_script(int ranks, const ReferenceRule& rule, unsigned seed) {
  GradientReference reference(ranks, kInitial, rule, some_gradient);
  std::minstd_rand random(seed);
  Script script;
  for (int turn = 0; turn < 60; ++turn) {
    script.push_back(reference.choose_turn(random));
    reference.play(script.back());
  }
  return script;
}

const std::string kPlain = ":grace=off:anticipate=off:momentum-by-mass=off";

class GradientRule : public ::testing::TestWithParam<int> {
 protected:
  void expect_in_any_order(const std::string& strategy, ReferenceRule rule) {
    for (const double momentum : {0.0, 0.9}) {
      rule.momentum = momentum;
      for (const unsigned seed : {1U, 2U}) {
        expect_the_rule(strategy, ranks(), random_script(ranks(), rule, seed), rule);
      }
    }
  }
  int ranks() const { return GetParam(); }
};

TEST_P(GradientRule, SyncTakesTheMeanOfAll) { expect_in_any_order("sync", {.trigger = all()}); }

TEST_P(GradientRule, SoloCarriesLateGradientsAndDividesByTheRanks) {
  expect_in_any_order("eager-solo" + kPlain, {.trigger = first()});
  expect_in_any_order("eager-solo:window=2" + kPlain, {.trigger = first(), .window = 2});
}

TEST_P(GradientRule, MajorityWaitsForTheRankThatIsDrawn) {
  expect_in_any_order("eager-majority" + kPlain, {.trigger = majority(5)});
}

TEST_P(GradientRule, QuorumWaitsForSoManyDeposits) {
  for (int quorum = 1; quorum <= ranks(); quorum += 2) {
    expect_in_any_order("eager-quorum:" + std::to_string(quorum) + kPlain,
                        {.trigger = count(quorum)});
  }
}

TEST_P(GradientRule, MSyncDropsTheLateAndDividesByTheContributors) {
  for (int first = 1; first <= ranks(); first += 2) {
    expect_in_any_order(
        "m-sync:" + std::to_string(first),
        {.trigger = count(first), .carries = false, .by_contributors = true, .window = 32});
  }
}

TEST_P(GradientRule, MGradientsAreAWholeStepOfMSync) {
  for (int first = 1; first <= ranks(); first += 2) {
    expect_in_any_order("m-sync:" + std::to_string(first) + ":momentum-by-mass=on",
                        {.trigger = count(first),
                         .carries = false,
                         .by_contributors = true,
                         .window = 32,
                         .momentum_by_mass = true,
                         .whole = first});
  }
}

TEST_P(GradientRule, DropComputeWithoutACutIsSynchronous) {
  expect_in_any_order("dropcompute:1s", {.trigger = all()});
}

TEST_P(GradientRule, MomentumByMassIsPartOfAStepForPartOfTheGradients) {
  const std::string by_mass = ":grace=off:anticipate=off:momentum-by-mass=on";
  expect_in_any_order("eager-solo" + by_mass, {.trigger = first(), .momentum_by_mass = true});
  expect_in_any_order("eager-majority" + by_mass,
                      {.trigger = majority(5), .momentum_by_mass = true});
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientRule, ::testing::Values(1, 2, 3, 4, 8), name_by_ranks);

TEST(LateGradient, IsInTheNextRoundWithTheNextOneOfTheSameRank) {
  // Rank 1 comes when round 1 is over, and again when round 1 is all that it has missed.
  expect_the_rule("eager-solo" + kPlain, 2, {{0}, {1}, {1}, {0}, {0}}, {.trigger = first()});
}

TEST(LateGradient, IsTakenByTheLastRoundAtTheEnd) {
  expect_the_rule("eager-solo" + kPlain, 3, {{0}, {1}, {2}}, {.trigger = first()});
}

TEST(LateGradient, CountsForTheQuorumOfTheNextRound) {
  expect_the_rule("eager-quorum:2" + kPlain, 3, {{0, 1}, {2}, {0}, {1}, {2}},
                  {.trigger = count(2)});
}

}  // namespace
}  // namespace syncopate::testing
