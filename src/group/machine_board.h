// The board of a group average as the agent of its machine sees it: it chooses the publications of
// its machine's members, sums them up, and publishes the mean that the machines of the group made
// together. One thread does all of it, so no second attempts are needed.
#pragma once

#include <cstdint>
#include <vector>

#include "group/board.h"

namespace syncopate::board {

class MachineGroupBoard : public GroupBoard {
 public:
  MachineGroupBoard(std::byte* memory, const GroupShape& shape, Roster& roster, Platform& platform)
      : GroupBoard(memory, shape, roster, platform) {}

  /// What this machine's members bring to a round.
  struct Share {
    std::vector<int> contributors;  ///< By their numbers in the world.
    std::uint64_t staleness = 0;
    std::vector<Term> terms;  ///< Their weights, which stay until the result is published.
  };
  Share choose_all(const LocalGroup& where);
  /// A buffer for the result; -1 if there is none at the moment. It is a member who takes it, as
  /// the rank of the agent may be in another group and ahead.
  /// Nobody else gets it before publish_mean(), even if all of them are gone.
  int reserve_result(const LocalGroup& where) {
    return reserve(where, where.members.front(), true);
  }
  void* values(int buffer) const { return reduction_.values(buffer); }
  void publish_mean(const LocalGroup& where, int buffer, const std::vector<int>& contributors,
                    std::uint64_t staleness);

  void note_elsewhere(RoundNumber seen);
};

}  // namespace syncopate::board
