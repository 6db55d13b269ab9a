// The rank that speaks for all: the first that lives.
#pragma once

#include "syncopate/world.h"

namespace syncopate::train {

inline bool leads(const World& world) {
  const RankSet dead = world.dead();
  int leader = 0;
  while (dead.contains(leader)) ++leader;
  return world.rank() == leader;
}

}  // namespace syncopate::train
