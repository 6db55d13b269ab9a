#include "board/own_seat.h"

#include "syncopate/error.h"

namespace syncopate::board {

void OwnSeat::join(const ProcessId& process) {
  Seat& seat = seats_[local_rank_];
  step(Step::join);
  // The seat is taken by its process number first, so that two processes cannot both have it.
  std::uint64_t holder = 0;  // None.
  if (!seat.pid.replace(holder, process.pid)) {
    throw Error(ErrorCode::environment,
                name() + " is already taken by process " + std::to_string(holder),
                "Make one World per rank, and start each rank once");
  }
  seat.started.store(process.started);
  seat.cores = platform_.cores().mask;
  seats_.set_life(local_rank_, Life::absent, Life::present, platform_);
  check();  // The launcher may have given the seat up: what it had started has ended.
}

void OwnSeat::leave() { seats_.set_life(local_rank_, Life::present, Life::left, platform_); }

void OwnSeat::refuse() const {
  if (!same_process()) {
    throw Error(ErrorCode::closed, "a fork of " + name() + " has used its world",
                "Use a world and its collectives in the process that made it; after fork() only "
                "the parent is the rank");
  }
  throw Error(ErrorCode::rank_lost,
              "the others take " + name() + " for dead, though it lives, and go on without it",
              "End this process: nothing that it does counts any more. See that the program which "
              "the launcher starts as a rank does not end before the rank does");
}

}  // namespace syncopate::board
