// A rank's own seat on the board of its machine: takes it, gives it up, and tells whether this
// process may still speak for the rank.
//
// What always holds, the check that guards it, and its test:
//
// 1. A seat is taken by one process, once. (Its process number is set by one compare-and-swap from
//    0 and never again: join() refuses. RosterTest.ASeatIsTakenOnce)
// 2. A process speaks for a rank only while it holds the rank's seat and is no fork of the one that
//    took it. (check(). tests/process/fork_test.cpp, false_suspicion_test.cpp)
#pragma once

#include <string>

#include "board/origin.h"
#include "board/platform.h"
#include "board/seats.h"

namespace syncopate::board {

class OwnSeat {
 public:
  OwnSeat(Seats seats, int local_rank, Platform& platform)
      : seats_(seats), platform_(platform), local_rank_(local_rank) {}

  /// Takes the seat; throws Error if a live process has it already, or others have given it up.
  void join(const ProcessId& process);
  void leave();

  /// Whether this is the process that has made the roster, and not a fork of it.
  bool same_process() const { return origin_.here(); }
  /// Whether this process may change the board on behalf of its rank: it is no fork, and the others
  /// still count on the rank. (They may be wrong about a rank that lives.)
  bool may_speak() const { return same_process() && seats_.counted_on(local_rank_); }
  /// Throws Error unless this process may speak for its rank. What a rank calls asks this before it
  /// changes anything, while it waits, and before it trusts what it has read: for a rank that they
  /// take for dead the others wait no longer. Costs two words that stay in the cache.
  void check() const {
    if (!may_speak()) [[unlikely]]
      refuse();
  }

 private:
  [[noreturn]] void refuse() const;
  std::string name() const { return "rank " + std::to_string(seats_[local_rank_].rank); }

  Seats seats_;
  Platform& platform_;
  Origin origin_;
  int local_rank_;
};

}  // namespace syncopate::board
