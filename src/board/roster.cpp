#include "board/roster.h"

namespace syncopate::board {

int SharedCores::count() const {
  if (count_ > 0) return count_;
  Cores together{.quota = platform_.cores().quota};
  bool complete = true;
  for (int local_rank = 0; local_rank < seats_.size(); ++local_rank) {
    complete = complete && seats_.life(local_rank) != Life::absent;
    if (seats_.life(local_rank) != Life::present) continue;
    for (std::size_t word = 0; word < together.mask.size(); ++word) {
      together.mask[word] |= seats_[local_rank].cores[word];
    }
  }
  if (complete) count_ = together.count();
  return together.count();
}

Roster::Roster(std::byte* memory, int local_rank, Platform& platform)
    : seats_(memory),
      platform_(platform),
      cores_(seats_, platform),
      own_(seats_, local_rank, platform),
      local_rank_(local_rank) {}

RankSet Roster::dead() const {
  RankSet set(world_size());
  for (int local_rank = 0; local_rank < local_size(); ++local_rank) {
    if (dead(local_rank)) set.insert(rank_of(local_rank));
  }
  return set;
}

bool Roster::has_process(int local_rank) const {
  const Life life = seats_.life(local_rank);
  if (life == Life::left) return platform_.alive(local_rank, seats_[local_rank].process());
  return life != Life::dead;
}

bool Roster::look_after() {
  bool found = false;
  for (int local_rank = 0; local_rank < local_size(); ++local_rank) {
    if (local_rank == local_rank_ || seats_.life(local_rank) != Life::present) continue;
    if (platform_.alive(local_rank, seats_[local_rank].process())) continue;
    seats_.set_life(local_rank, Life::present, Life::dead, platform_);
    found = true;
  }
  return found;
}

std::string Roster::describe(int local_rank) const {
  const std::string name = "rank " + std::to_string(rank_of(local_rank));
  switch (seats_.life(local_rank)) {
    case Life::absent:
      return name + " (has not joined)";
    case Life::left:
      return name + " (has left)";
    case Life::dead:
      return name + " (dead)";
    case Life::present:
      break;
  }
  return name + " (" + platform_.describe(seats_[local_rank].process()) + ")";
}

}  // namespace syncopate::board
