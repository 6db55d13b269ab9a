// A rank with everything that it can have, and every call that it can make: for tests in which each
// of them has to be refused.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "syncopate/syncopate.h"

namespace syncopate::testing {

struct RankWithAll {
  explicit RankWithAll(World rank_world, const GroupOptions& of_weights)
      : world(std::move(rank_world)),
        rounds(world, 1, {.trigger = all(), .scale = Scale::none}),
        weights(world, one, of_weights) {}

  World world;
  std::vector<float> one{1.0F};
  PartialAllreduce<float> rounds;
  GroupAverage<float> weights;
};

struct Call {
  const char* name;
  std::function<void(RankWithAll&)> make;
};

inline std::vector<Call> every_call() {
  using Rank = RankWithAll;
  return {
      {"slot", [](Rank& rank) { rank.rounds.slot(); }},
      {"exchange", [](Rank& rank) { rank.rounds.exchange(rank.one).pass(); }},
      {"start", [](Rank& rank) { rank.rounds.start(rank.one); }},
      {"start_empty", [](Rank& rank) { rank.rounds.start_empty(); }},
      {"ready", [](Rank& rank) { rank.rounds.ready(); }},
      {"wait", [](Rank& rank) { rank.rounds.wait().pass(); }},
      {"stop", [](Rank& rank) { rank.rounds.stop(); }},
      {"finish", [](Rank& rank) { rank.rounds.finish([](const Round<float>&) {}); }},
      {"leave", [](Rank& rank) { rank.rounds.leave(); }},
      {"carried", [](Rank& rank) { rank.rounds.carried(); }},
      {"restore", [](Rank& rank) { rank.rounds.restore(rank.one, 1); }},
      {"keep_deposits", [](Rank& rank) { rank.rounds.keep_deposits(); }},
      {"weights", [](Rank& rank) { rank.weights.weights(); }},
      {"average", [](Rank& rank) { rank.weights.average(); }},
      {"start of an average", [](Rank& rank) { rank.weights.start(); }},
      {"ready of an average", [](Rank& rank) { rank.weights.ready(); }},
      {"leave of an average", [](Rank& rank) { rank.weights.leave(); }},
      {"barrier", [](Rank& rank) { rank.world.barrier(); }},
      {"broadcast", [](Rank& rank) { rank.world.broadcast(std::span(rank.one), 0); }},
      {"dead", [](Rank& rank) { rank.world.dead(); }},
      {"a new allreduce", [](Rank& rank) { Allreduce<float>(rank.world, 1); }},
      {"a new partial allreduce", [](Rank& rank) { PartialAllreduce<float>(rank.world, 1); }},
      {"a new average", [](Rank& rank) { GroupAverage<float>(rank.world, rank.one); }},
  };
}

}  // namespace syncopate::testing
