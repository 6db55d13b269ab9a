#include <algorithm>
#include <iterator>

#include "campaign/training.h"

namespace syncopate::campaign {
namespace {

/// Ranks of these hold one model.
constexpr const char* kReplicas[] = {"sync",           "eager-solo", "eager-majority",
                                     "eager-quorum:2", "m-sync:2",   "dropcompute"};
constexpr const char* kOthers[] = {"wagma:2:4", "local:3", "post-local:6:3", "biased-local"};

}  // namespace

const char* to_string(TrainingLife::Blow blow) {
  constexpr const char* kNames[] = {"nothing happens",          "a rank is killed",
                                    "a rank is stopped",        "the launcher is killed",
                                    "the launcher gets SIGINT", "the launcher gets SIGTERM"};
  return kNames[static_cast<std::size_t>(blow)];
}

bool TrainingLife::holds_one_model() const {
  return std::find(std::begin(kReplicas), std::end(kReplicas), strategy) != std::end(kReplicas);
}

TrainingLife TrainingLife::draw(std::uint64_t seed) {
  Random random(seed);
  TrainingLife life{.seed = seed};
  const bool exact = random.one_in(3);
  life.strategy = random.one_in(4) ? kOthers[random.below(std::size(kOthers))]
                                   : kReplicas[random.below(std::size(kReplicas))];
  if (exact) life.strategy = "sync";
  // Two at least where the strategy is about two.
  const int least = life.strategy.find('2') == std::string::npos ? 1 : 2;
  life.samples = std::uint64_t(random.between(60, 300)) * 4;
  life.checkpoint_every = random.between(8, 120);
  life.pace_us = random.between(100, 900);
  life.survive = !exact && random.one_in(3);
  const int blows = random.between(1, 3);
  const int ranks = random.between(least, 4);
  for (int i = 0; i <= blows; ++i) {
    life.parts.push_back({.ranks = exact ? ranks : random.between(least, 4),
                          .blow = i == blows ? Blow::none : Blow(random.between(exact ? 2 : 1, 5)),
                          .victim = random.below(4),
                          .from_checkpoint = !random.one_in(4),
                          .after_ms = random.below(700)});
  }
  return life;
}

bool TrainingLife::exact() const {
  if (strategy != "sync" || survive) return false;
  // Between a death and the end of the job the others may train without the dead.
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.ranks == parts[0].ranks && part.blow != Blow::rank_killed;
  });
}

std::string TrainingLife::text() const {
  std::string text = "seed " + std::to_string(seed) + ": a training with " + strategy + ", " +
                     std::to_string(samples) + " samples, a checkpoint each " +
                     std::to_string(checkpoint_every) + ", pace " + std::to_string(pace_us) +
                     " us" + (survive ? ", surviving" : "");
  for (const Part& part : parts) {
    text += "\n  " + std::to_string(part.ranks) + " ranks, " + to_string(part.blow);
    if (part.blow == Blow::none) continue;
    text += " (rank " + std::to_string(part.victim % part.ranks) + ") " +
            std::to_string(part.after_ms) + " ms after " +
            (part.from_checkpoint ? "a checkpoint" : "the start");
  }
  return text + "\n";
}

}  // namespace syncopate::campaign
