// Which group a rank is in at each step, and who of it is on the rank's machine: the schedule of
// all (round/groups.h) as one rank sees it.
#pragma once

#include <vector>

#include "group/memory.h"
#include "round/groups.h"

namespace syncopate::group {

/// The group of this rank at a step.
struct OwnGroup {
  RoundNumber step = 0;
  int group = 0;
  bool everyone = false;       ///< All ranks of the world average together.
  bool spans = false;          ///< It has members on other machines: the agents run its round.
  std::vector<int> members{};  ///< On this machine, counted within it, in increasing order.

  LocalGroup here() const { return {.step = step, .group = group, .members = members}; }
};

class Membership {
 public:
  /// `options` are complete.
  Membership(const board::Roster& roster, const GroupOptions& options);

  OwnGroup at(RoundNumber step) const;
  int group_at(RoundNumber step) const { return plan_.group_at(step, rank_); }

 private:
  int rank_;
  round::GroupPlan plan_;
  std::vector<int> local_rank_of_;  ///< Of each rank of the world; -1 on other machines.
};

}  // namespace syncopate::group
