// Lives of trainings: `syncopate train` on the workload that needs no data, with blows at ranks and
// at the launcher, resumed with as many ranks or with others until it comes to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "campaign/job.h"

namespace syncopate::campaign {

struct TrainingLife {
  enum class Blow : std::uint8_t {
    none,
    rank_killed,
    rank_stopped,
    launcher_killed,
    interrupted,
    terminated
  };
  /// One start of the program.
  struct Part {
    int ranks = 2;
    Blow blow = Blow::none;
    int victim = 0;
    bool from_checkpoint = false;  ///< The time counts from the first checkpoint on.
    int after_ms = 0;
  };
  std::uint64_t seed = 0;
  std::string strategy;
  std::uint64_t samples = 0;
  int checkpoint_every = 40;
  int pace_us = 0;
  bool survive = false;
  std::vector<Part> parts;

  static TrainingLife draw(std::uint64_t seed);
  /// Whether it has to end with the very model of a run that nothing disturbs.
  bool exact() const;
  bool holds_one_model() const;  ///< Whether all ranks do.
  std::string text() const;
};
const char* to_string(TrainingLife::Blow blow);

/// What went wrong, or nothing.
std::string play_training(const TrainingLife& life, Tally& tally);

}  // namespace syncopate::campaign
