// Strikes one rank of a group average with a signal at a chosen step of the protocol and checks
// what the others make of it (see fault.h, which does the same to a partial allreduce).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fault/fault.h"
#include "syncopate/group_average.h"

namespace syncopate::testing {

/// A world to strike in.
struct GroupWorld {
  const char* name;
  int ranks;
  GroupOptions options;
  bool nobody_waits;  ///< For a rank that is stopped, in any of its steps.
};

struct GroupStrike {
  board::Step step;
  int occurrence = 1;  ///< At which of the victim's steps of this kind.
  int signal = 0;      ///< SIGKILL or SIGSTOP.
  Arrival arrival = Arrival::early;
  int victim = 1;
  int at_retry = 0;  ///< A signal for the rank that first gives up on the victim's chunk.
};

/// Runs one case and checks all that the survivors can know.
Struck survive(const GroupWorld& world, const GroupStrike& strike);

}  // namespace syncopate::testing
