#include "board/roster.h"

#include "syncopate/error.h"

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
    : seats_(memory), platform_(platform), cores_(seats_, platform), local_rank_(local_rank) {}

void Roster::join(const ProcessId& process) {
  Seat& seat = seats_[local_rank_];
  step(Step::join);
  // The seat is taken by its process number first, so that two processes cannot both have it.
  std::uint64_t holder = 0;  // None.
  if (!seat.pid.replace(holder, process.pid)) {
    throw Error(
        ErrorCode::environment,
        "rank " + std::to_string(rank()) + " is already taken by process " + std::to_string(holder),
        "Make one World per rank, and start each rank once");
  }
  seat.started.store(process.started);
  seat.cores = platform_.cores().mask;
  seats_.set_life(local_rank_, Life::absent, Life::present, platform_);
  check_seat();  // The launcher may have given the seat up: what it had started has ended.
}

void Roster::leave() { seats_.set_life(local_rank_, Life::present, Life::left, platform_); }

void Roster::refuse_seat() const {
  const std::string name = "rank " + std::to_string(rank());
  if (!same_process()) {
    throw Error(ErrorCode::closed, "a fork of " + name + " has used its world",
                "Use a world and its collectives in the process that made it; after fork() only "
                "the parent is the rank");
  }
  throw Error(ErrorCode::rank_lost,
              "the others take " + name + " for dead, though it lives, and go on without it",
              "End this process: nothing that it does counts any more. See that the program which "
              "the launcher starts as a rank does not end before the rank does");
}

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
