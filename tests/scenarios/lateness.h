// What of a scenario holds where ranks are a little late, as real ones are. On the board's clock
// everything takes exactly its time, and of ranks that come at the same moment the lowest is
// first; expectations that hang on this are found by playing the scenario with ranks that are late.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace syncopate::testing {

struct Tolerant {
  Scenario scenario;  ///< With the expectations that hold still.
  /// By how much a rank may be late before anything it does: the most that we try for which no
  /// more is lost than for the least.
  Moment lateness{0};
  Moment slack{0};  ///< By how much times may then be others.
  Moment end{0};    ///< How long the scenario takes if no rank is late.
  int expected = 0;
  int kept = 0;
};

/// Expectations of a round are kept or lost one by one: who is in it may be certain, and when it
/// started not.
Tolerant allow_lateness(const Scenario& scenario);

}  // namespace syncopate::testing
