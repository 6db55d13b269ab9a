// What the ranks of one schedule of group averages do, and what happens to them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "explorer/random.h"
#include "support/machine.h"
#include "syncopate/group_average.h"

namespace syncopate::testing {

struct GroupPlan {
  enum class Call : std::uint8_t {
    in_place,  // average()
    copied,    // average() on a buffer of the rank's own
    halves,    // start(), ready() twice, wait()
  };
  int ranks = 2;
  std::size_t elements = 1;
  GroupOptions options;    ///< Complete.
  std::vector<int> steps;  ///< Of each rank; then it leaves.
  std::vector<Call> calls;
  std::vector<Time> computing;  ///< Before each step of a rank.
  std::vector<Machine::Fault> faults;
  Time tick = 0;
  int wake_early = 0;

  static GroupPlan draw(Random& random);
  /// Nothing in it takes time: then no wait may end by the clock either.
  bool timeless() const;
  int all_steps() const;
  /// Steps of the protocol that it takes, about.
  int typical_steps() const { return 80 * all_steps(); }
  std::string describe() const;
};

/// Worlds so small that a fault can be tried at every step.
std::vector<GroupPlan> small_group_plans();

}  // namespace syncopate::testing
