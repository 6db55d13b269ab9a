// The rank that speaks for all, in what nobody depends on: the first that is there.
#pragma once

#include "collective/world_state.h"
#include "syncopate/world.h"

namespace syncopate::train {

inline bool leads(const World& world) {
  board::Roster& roster = world.shared_state()->roster();
  roster.look_after();
  int leader = 0;
  while (!roster.expected(leader)) ++leader;
  return world.rank() == leader;
}

}  // namespace syncopate::train
