// Plays a scenario in real time: each rank of a world plays its own part.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "scenarios/record.h"
#include "scenarios/scenario.h"
#include "syncopate/world.h"

namespace syncopate::testing {

/// What one rank has to say.
struct Part {
  RankRecord rank;
  double deposited = 0;
  std::vector<std::string> complaints;
};

/// Why real ranks cannot play this; empty if they can.
std::string why_not_in_real_time(const Scenario& scenario);

/// Called by every rank. Everything takes `stretch` times as long as the scenario says; what is
/// recorded is in the scenario's own time.
Part play_in_real_time(const Scenario& scenario, World& world, double stretch);

/// What `root` says, on every rank.
template <typename T>
T told_by(int root, T value, World& world) {
  world.broadcast(std::span<T>(&value, 1), root);
  return value;
}

/// Everything that the ranks have to say, on every rank. When a round started is not seen from
/// outside; but it started for a rank that waits, so its first reader tells, a moment later.
Record bring_together(World& world, Part mine);

}  // namespace syncopate::testing
