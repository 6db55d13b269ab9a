// Strikes one rank of a group average with a signal at a chosen step of the protocol and checks
// what the others make of it (see fault.h, which does the same to a partial allreduce).
#pragma once

#include "fault/blow.h"
#include "syncopate/group_average.h"

namespace syncopate::testing {

/// A world to strike in.
struct GroupWorld {
  const char* name;
  int ranks;
  GroupOptions options;
  bool nobody_waits;  ///< For a rank that is stopped, in any of its steps.
};

/// Runs one case and checks all that the survivors can know.
Struck survive(const GroupWorld& world, const Blow& blow);

}  // namespace syncopate::testing
