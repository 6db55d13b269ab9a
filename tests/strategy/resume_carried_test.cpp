// Gradients that lie on the board when a training is stopped: they are saved, put back on the board
// of another world, and are in exactly one round there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

const Numbers kInitial{1, -2, 3};
constexpr Rule kRule{.rate = 0.1F, .momentum = 0.9F};

/// What a checkpoint keeps of one rank.
struct Saved {
  Vector weights{kInitial.begin(), kInitial.end()};
  Vector velocity = Vector(kInitial.size());
  StrategyState state;
  int steps = 0;
  double gradients = 0;  ///< Applied so far.
};

/// Turns until every rank has seen every round; those that come late leave gradients on the board.
void catch_up(GradientReference& reference, int ranks, Script& script) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (!reference.late(rank)) continue;
    script.push_back({rank});
    reference.play(script.back());
  }
}

void play_part(const std::string& strategy, const Script& script, bool resumed, bool ends,
               std::vector<Saved>& saved) {
  Play play(script);
  const int ranks = int(saved.size());
  with_ranks(ranks, [&](World& world) {
    Saved& mine = saved[world.rank()];
    VectorLearner learner(mine.weights, kRule);
    learner.velocity() = mine.velocity;
    learner.on_exchange = [&](const auto& told) { mine.gradients += told.exchange.mass * ranks; };
    const auto made = make_strategy(strategy, {.world = world, .learner = learner, .seed = 3});
    if (resumed) made->load(mine.state);
    world.barrier();
    play.take_part(world.rank(), [&] {
      take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
        const Numbers fresh =
            some_gradient(world.rank(), mine.steps++, {weights.begin(), weights.end()});
        std::copy(fresh.begin(), fresh.end(), gradient.begin());
      });
    });
    world.barrier();
    if (ends) {
      made->finish();
    } else {
      mine.state = made->save();
    }
    world.barrier();
    mine.weights = to_vector(learner.weights());
    mine.velocity = learner.velocity();
  });
}

void expect_unharmed_by_stops(const std::string& strategy, int ranks, const ReferenceRule& rule,
                              unsigned seed) {
  SCOPED_TRACE(strategy + " with " + std::to_string(ranks) + " ranks");
  GradientReference reference(ranks, kInitial, rule, some_gradient);
  std::minstd_rand random(seed);
  std::vector<Saved> saved(ranks);
  bool carried = false;
  for (int part = 0; part < 4; ++part) {
    Script script;
    for (int turn = 0; turn < 20; ++turn) {
      script.push_back(reference.choose_turn(random));
      reference.play(script.back());
    }
    if (part < 3) catch_up(reference, ranks, script);
    play_part(strategy, script, part > 0, part == 3, saved);
    for (const Saved& one : saved) carried = carried || one.state.has("carried");
  }
  reference.finish();
  EXPECT_EQ(carried, ranks > 1) << "the test should have something to lose";
  int given = 0;
  for (const Saved& one : saved) given += one.steps;
  for (const Saved& one : saved) {
    EXPECT_NEAR(one.gradients, given, 1e-6);
    EXPECT_EQ(one.weights, saved[0].weights);
    for (std::size_t i = 0; i < kInitial.size(); ++i) {
      EXPECT_NEAR(one.weights[i], reference.round(reference.rounds()).weights[i], 1e-4);
    }
  }
}

TEST(CarriedGradients, SurviveEveryStopAndAreAppliedOnce) {
  const std::string plain = ":grace=off:anticipate=off:momentum-by-mass=off";
  for (const int ranks : {1, 2, 3, 5}) {
    for (const unsigned seed : {1U, 2U, 3U}) {
      ReferenceRule rule{.trigger = first(), .rate = kRule.rate, .momentum = kRule.momentum};
      expect_unharmed_by_stops("eager-solo" + plain, ranks, rule, seed);
      rule.trigger = count((ranks + 1) / 2);
      expect_unharmed_by_stops("eager-quorum:" + std::to_string((ranks + 1) / 2) + plain, ranks,
                               rule, seed);
    }
  }
}

TEST(CarriedGradients, KeepTheLagThatIsAnticipated) {
  // Rank 0 takes four steps for each one of rank 1.
  Script script;
  for (int i = 0; i < 20; ++i) script.insert(script.end(), {{0}, {0}, {0}, {0}, {1}});
  std::vector<Saved> saved(2);
  play_part("eager-solo:grace=off", script, false, false, saved);
  EXPECT_NEAR(saved[1].state.number("lag"), 1 + 0.5 * 3, 0.1);
  EXPECT_TRUE(saved[1].state.has("carried"));
  play_part("eager-solo:grace=off", script, true, true, saved);
  EXPECT_NEAR(saved[0].gradients, saved[0].steps + saved[1].steps, 1e-6);
  EXPECT_EQ(saved[0].weights, saved[1].weights);
}

TEST(Carried, IsNothingWhereEveryDepositWasTaken) {
  with_ranks(1, [](World& world) {
    PartialAllreduce<float> rounds(world, 3);
    EXPECT_FALSE(rounds.carried().has_value());
    rounds.exchange(Vector{1, 2, 3}).pass();
    EXPECT_FALSE(rounds.carried().has_value());
    rounds.start_empty();
    EXPECT_FALSE(rounds.carried().has_value()) << "an arrival without values carries nothing";
  });
}

template <typename T>
class CarriedOf : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CarriedOf, Types);

TYPED_TEST(CarriedOf, DepositsIsTheirSumByWeightAndIsTakenOnceWhereItIsRestored) {
  using Values = std::vector<TypeParam>;
  for (const int deposits : {1, 2, 3}) {
    std::optional<Carried<TypeParam>> carried;
    with_ranks(2, [&](World& world) {
      PartialAllreduce<TypeParam> rounds(world, 2, {.trigger = all(), .scale = Scale::none});
      if (world.rank() == 0) {
        for (int i = 1; i <= deposits; ++i) {
          rounds.start(Values{TypeParam(i), TypeParam(10 * i)}, i);
        }
        carried = rounds.carried();
      }
      world.barrier();
    });
    ASSERT_TRUE(carried.has_value());
    const int weight = deposits * (deposits + 1) / 2;
    const int sum = deposits * (deposits + 1) * (2 * deposits + 1) / 6;
    EXPECT_EQ(carried->weight, weight);
    EXPECT_EQ(carried->sum, (Values{TypeParam(sum), TypeParam(10 * sum)}));
    with_ranks(2, [&](World& world) {
      PartialAllreduce<TypeParam> rounds(world, 2, {.trigger = all(), .scale = Scale::none});
      if (world.rank() == 0) {
        rounds.restore(carried->sum, carried->weight);
        EXPECT_EQ(rounds.carried()->sum, carried->sum) << "it can be saved again";
        EXPECT_EQ(rounds.carried()->weight, carried->weight);
        rounds.start(Values{1, 1}, 2);
      }
      world.barrier();
      // In the first round, together with what rank 0 has added to it; and never again.
      const auto expect_sum = [&](const Rounds<TypeParam>& taken, int restored, double total) {
        EXPECT_EQ(taken.front().sum()[0], TypeParam(2 + 2 + restored));
        EXPECT_EQ(taken.front().sum()[1], TypeParam(2 + 2 + 10 * restored));
        EXPECT_EQ(taken.front().receipt().weight, total);
      };
      expect_sum(world.rank() == 0 ? rounds.wait() : rounds.exchange(Values{1, 1}, 2), sum,
                 4 + weight);
      expect_sum(rounds.exchange(Values{1, 1}, 2), 0, 4);
      world.barrier();
    });
  }
}

TEST(Restore, IsADepositForTheTrigger) {
  with_ranks(3, [](World& world) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = count(2), .scale = Scale::none});
    if (world.rank() == 1) rounds.restore(Vector{5}, 1);
    world.barrier();
    if (world.rank() == 0) {
      const auto taken = rounds.exchange(Vector{1});
      EXPECT_EQ(taken.front().sum()[0], 6);
      EXPECT_EQ(taken.front().receipt().contributors.list(), (std::vector<int>{0, 1}));
    }
    world.barrier();
  });
}

TEST(Restore, OfAnotherLengthOrWeightIsRefused) {
  with_ranks(1, [](World& world) {
    PartialAllreduce<float> rounds(world, 3);
    expect_refused(ErrorCode::invalid_argument, {"2 elements and the collective 3"},
                   [&] { rounds.restore(Vector(2), 1); });
    expect_refused(ErrorCode::invalid_argument, {"weight"},
                   [&] { rounds.restore(Vector(3), std::nan("")); });
    EXPECT_FALSE(rounds.carried().has_value());
    rounds.finish([](const auto&) {});
    expect_refused(ErrorCode::closed, {"after finish()"}, [&] { rounds.restore(Vector(3), 1); });
  });
}

}  // namespace
}  // namespace syncopate::testing
