// What an imbalance does to the steps of one rank. It depends on the seed, the rank and the step
// alone, so that every strategy meets the same delays.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "syncopate/policy.h"
#include "train/imbalance.h"

namespace syncopate::train {

/// The step times of a trace, a text with one per line; `name`: of its file. Throws Error for
/// anything else.
std::vector<Duration> read_step_times(std::istream& text, const std::string& name);

class InjectedDelays {
 public:
  /// Throws Error if the imbalance does not suit so many ranks or its file cannot be read, on
  /// every rank alike: the launcher makes one first, to find out.
  InjectedDelays(Imbalance imbalance, int ranks, int rank, std::uint64_t seed);

  /// How long step number `step` of this rank lasts (it counts its own, from 0) if it takes
  /// `undisturbed` without the imbalance.
  Duration length(std::uint64_t step, Duration undisturbed) const;

 private:
  bool is_struck(std::uint64_t step, int struck) const;

  Imbalance imbalance_;
  int ranks_;
  int rank_;
  std::uint64_t seed_;
  std::vector<Duration> trace_;
};

}  // namespace syncopate::train
