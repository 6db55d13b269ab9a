// A checkpoint that other ranks go on with than those that saved it: nothing that was under way is
// lost or applied twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "strategy/learner.h"
#include "strategy/play.h"
#include "support/refusal.h"

namespace syncopate::testing {
namespace {

StrategyState some_state(float pending = 2, double drops = 1) {
  return {.entries = {{"rounds", {Sharing::same, 9.0}},
                      {"losses", {Sharing::same, Vector{4, 5}}},
                      {"lag", {Sharing::own, 0.5}},
                      {"notes", {Sharing::pending, Vector{pending, 0}}},
                      {"drops", {Sharing::pending, drops}}}};
}

TEST(Inheritance, AStandInHasOnlyWhatIsTheSameOnEveryRank) {
  StrategyState state = some_state();
  state.make_stand_in();
  EXPECT_TRUE(state.stand_in);
  EXPECT_EQ(state.entries.size(), 2U);
  EXPECT_EQ(state.number("rounds"), 9);
  EXPECT_EQ(state.vector("losses"), (Vector{4, 5}));
}

TEST(Inheritance, WhatRanksHadPendingAddsUp) {
  StrategyState heir = some_state(2, 1);
  heir.inherit(some_state(3, 4));
  EXPECT_EQ(heir, some_state(5, 5)) << "and nothing else changes";
}

TEST(Inheritance, AStandInHasWhatItInherits) {
  StrategyState heir = some_state(2, 1);
  heir.make_stand_in();
  heir.inherit(some_state(3, 4));
  EXPECT_EQ(heir.vector("notes"), (Vector{3, 0}));
  EXPECT_EQ(heir.number("drops"), 4);
  EXPECT_FALSE(heir.has("lag"));
}

TEST(Inheritance, StatesOfDifferentCheckpointsAreRefusedAndTheHeirIsUnharmed) {
  const auto refused = [](const char* words, const auto& change) {
    StrategyState heir = some_state(), other = some_state();
    change(other.entries);
    expect_refused(ErrorCode::invalid_argument, {words}, [&] { heir.inherit(other); });
    EXPECT_EQ(heir, some_state());
  };
  refused("'rounds'", [](auto& entries) { entries["rounds"].value = 8.0; });
  refused("'losses'", [](auto& entries) { entries["losses"].value = Vector{4}; });
  refused("'rounds'", [](auto& entries) { entries.erase("rounds"); });
  refused("'more'", [](auto& entries) { entries["more"] = {Sharing::same, 1.0}; });
  refused("'notes'", [](auto& entries) { entries["notes"].value = Vector{1}; });
  refused("'notes'", [](auto& entries) { entries["notes"].value = 1.0; });
  refused("'lag'", [](auto& entries) { entries["lag"].sharing = Sharing::pending; });
}

constexpr int kSavers = 3;

/// Three ranks with a gradient each, of which the first round took one.
std::vector<StrategyState> saved_with_two_on_the_board(const std::string& strategy) {
  std::vector<StrategyState> saved(kSavers);
  with_ranks(kSavers, [&](World& world) {
    VectorLearner learner(Vector{0, 0});
    const auto made = make_strategy(strategy, {.world = world, .learner = learner, .notes = 1});
    world.barrier();
    for (int turn = 0; turn < kSavers; ++turn) {
      if (turn == world.rank()) {
        take_step(*made, learner, [&](auto, std::span<float> gradient) {
          std::ranges::fill(gradient, float(world.rank() + 1));
          made->notes()[0] = 4;
        });
      }
      world.barrier();
    }
    StrategyState& mine = saved[std::size_t(world.rank())];
    mine = made->save();
    EXPECT_EQ(mine.has("carried"), world.rank() > 0);
    world.barrier();
  });
  return saved;
}

TEST(Inheritance, WhatWasOnTheBoardIsAppliedOnceByAnyNumberOfRanks) {
  for (const std::string strategy :
       {"eager-solo:grace=off", "eager-solo:grace=off:anticipate=off"}) {
    const std::vector<StrategyState> saved = saved_with_two_on_the_board(strategy);
    for (const int ranks : {1, 2, 3, 4, 7}) {
      SCOPED_TRACE(strategy + " by " + std::to_string(ranks));
      std::vector<double> gradients(std::size_t(ranks), 0), notes(std::size_t(ranks), 0);
      std::vector<Vector> weights(static_cast<std::size_t>(ranks));
      with_ranks(ranks, [&](World& world) {
        const int rank = world.rank();
        StrategyState mine = saved[std::size_t(rank % kSavers)];
        if (rank >= kSavers) mine.make_stand_in();
        for (int other = rank + ranks; other < kSavers; other += ranks) {
          mine.inherit(saved[std::size_t(other)]);
        }
        VectorLearner learner(Vector{0, 0}, {.rate = 1});
        learner.on_exchange = [&](const auto& told) {
          gradients[std::size_t(rank)] += told.exchange.mass * ranks;
          notes[std::size_t(rank)] += told.notes[0];
        };
        const auto made = make_strategy(strategy, {.world = world, .learner = learner, .notes = 1});
        made->load(mine);
        world.barrier();
        made->finish();
        weights[std::size_t(rank)] = to_vector(learner.weights());
      });
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_NEAR(gradients[std::size_t(rank)], 2, 1e-6);
        EXPECT_NEAR(notes[std::size_t(rank)], 8, 1e-5);
        EXPECT_NEAR(weights[std::size_t(rank)][0], -(2.0 + 3.0) / ranks, 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace syncopate::testing
