#include "group/membership.h"

namespace syncopate::group {

Membership::Membership(const board::Roster& roster, const GroupOptions& options)
    : rank_(roster.rank()),
      plan_(roster.world_size(), options),
      local_rank_of_(roster.world_size(), -1) {
  for (int rank = 0; rank < roster.local_size(); ++rank) {
    local_rank_of_[roster.rank_of(rank)] = rank;
  }
}

OwnGroup Membership::at(RoundNumber step) const {
  OwnGroup own{.step = step, .group = group_at(step), .everyone = plan_.everyone_at(step)};
  for (const int member : plan_.members_at(step, rank_)) {
    if (const int local_rank = local_rank_of_[member]; local_rank >= 0) {
      own.members.push_back(local_rank);
    } else {
      own.spans = true;
    }
  }
  return own;
}

}  // namespace syncopate::group
