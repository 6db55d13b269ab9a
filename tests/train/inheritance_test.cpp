// A checkpoint that other ranks go on with than those that saved it: nothing that was under way is
// lost or applied twice.
#include "train/inheritance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "strategy/learner.h"
#include "strategy/play.h"

namespace syncopate::testing {
namespace {

using train::Snapshot;

TEST(Inheritance, AStandInHasNothingUnderWay) {
  Snapshot snapshot;
  snapshot.strategy.vectors = {{"carried", {1, 2}}, {"notes", {3}}, {"losses", {4}}};
  snapshot.strategy.numbers = {{"carried weight", 1}, {"rounds", 9}};
  make_stand_in(snapshot);
  EXPECT_FALSE(snapshot.strategy.vectors.contains("carried"));
  EXPECT_FALSE(snapshot.strategy.numbers.contains("carried weight"));
  EXPECT_EQ(snapshot.strategy.vectors.at("notes"), Vector{0});
  EXPECT_EQ(snapshot.strategy.vectors.at("losses"), Vector{4});
  EXPECT_EQ(snapshot.strategy.numbers.at("rounds"), 9);
}

TEST(Inheritance, WhatRanksHadToGiveAddsUp) {
  const auto with = [](float loss, double drops) {
    Snapshot snapshot;
    snapshot.strategy.vectors = {{"fresh losses", {loss, 0}}, {"loss counts", {1, 0}}};
    snapshot.strategy.numbers = {{"unreported drops", drops}};
    return snapshot;
  };
  Snapshot heir = with(2, 1);
  inherit(heir, with(3, 4));
  EXPECT_EQ(heir.strategy.vectors.at("fresh losses"), (Vector{5, 0}));
  EXPECT_EQ(heir.strategy.vectors.at("loss counts"), (Vector{2, 0}));
  EXPECT_EQ(heir.strategy.numbers.at("unreported drops"), 5);
  make_stand_in(heir);
  EXPECT_EQ(heir.strategy.vectors.at("fresh losses"), (Vector{0, 0}));
  EXPECT_EQ(heir.strategy.vectors.at("loss counts"), (Vector{0, 0}));
  EXPECT_EQ(heir.strategy.numbers.at("unreported drops"), 0);
}

constexpr int kSavers = 3;

/// Three ranks with a gradient each, of which the first round took one.
std::vector<Snapshot> saved_with_two_on_the_board(const std::string& strategy) {
  std::vector<Snapshot> saved(kSavers);
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
    Snapshot& mine = saved[std::size_t(world.rank())];
    mine.ranks = kSavers;
    mine.strategy = made->save();
    EXPECT_EQ(mine.strategy.vectors.contains("carried"), world.rank() > 0);
    world.barrier();
  });
  return saved;
}

TEST(Inheritance, WhatWasOnTheBoardIsAppliedOnceByAnyNumberOfRanks) {
  for (const std::string strategy :
       {"eager-solo:grace=off", "eager-solo:grace=off:anticipate=off"}) {
    const std::vector<Snapshot> saved = saved_with_two_on_the_board(strategy);
    for (const int ranks : {1, 2, 3, 4, 7}) {
      SCOPED_TRACE(strategy + " by " + std::to_string(ranks));
      std::vector<double> gradients(std::size_t(ranks), 0), notes(std::size_t(ranks), 0);
      std::vector<Vector> weights(static_cast<std::size_t>(ranks));
      with_ranks(ranks, [&](World& world) {
        const int rank = world.rank();
        Snapshot mine = saved[std::size_t(rank % kSavers)];
        if (rank >= kSavers) make_stand_in(mine);
        for (int other = rank + ranks; other < kSavers; other += ranks) {
          inherit(mine, saved[std::size_t(other)]);
        }
        VectorLearner learner(Vector{0, 0}, {.rate = 1});
        learner.on_exchange = [&](const auto& told) {
          gradients[std::size_t(rank)] += told.exchange.mass * ranks;
          notes[std::size_t(rank)] += told.notes[0];
        };
        const auto made = make_strategy(strategy, {.world = world, .learner = learner, .notes = 1});
        made->load(mine.strategy);
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
