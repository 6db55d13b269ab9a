// When to cut a step's computing off, from recorded steps (DropCompute).
#pragma once

#include <span>

namespace syncopate::strategy {

struct StepRecord {
  int steps = 0;
  int ranks = 0;
  int parts = 0;                ///< Per step.
  std::span<const float> ends;  ///< Seconds from the step's begin, by rank, then step, then part.
  double exchange = 0;          ///< Seconds that an exchange takes when everyone is there.
};

/// The time after which a rank should give what it has, so that the most work is done per second.
double best_cut(const StepRecord& record);

}  // namespace syncopate::strategy
