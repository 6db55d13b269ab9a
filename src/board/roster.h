// Who is in the world of one machine, as one rank sees it: which ranks there are, who lives, and
// this rank's own seat. Nothing here is ever locked; a rank may die at any point.
//
// What always holds, the check that guards it, and its test:
//
// 1. A seat is taken by one process, once. (Its process number is set by one compare-and-swap from
//    0 and never again: join() refuses. RosterTest.ASeatIsTakenOnce)
// 2. A life goes from absent to present to left or dead, or from absent to dead; what has left or
//    is dead stays so. (SYNCOPATE_CHECK in Seats::set_life.
//    RosterTest.TheLauncherDoesNotTurnALeaverIntoADeadRank)
// 3. A rank is found dead only once it was present, and only the launcher says so of one that never
//    came. (look_after() asks of present ranks only.
//    RosterTest.WhoHasNotJoinedIsExpectedUntilTheLauncherSaysOtherwise)
// 4. A process speaks for a rank only while it holds the rank's seat and is no fork of the one that
//    took it. (check_seat(). tests/process/fork_test.cpp, false_suspicion_test.cpp)
// 5. A rank's proposals have the numbers 1, 2, 3 …; only its own process raises them, by one.
//    (SYNCOPATE_CHECK in Proposals::propose. AgreementsTest.RanksAgreeInStepAndSeeWhoDoesNot)
#pragma once

#include <string>

#include "board/origin.h"
#include "board/platform.h"
#include "board/seats.h"
#include "syncopate/rank_set.h"

namespace syncopate::board {

/// The cores that the present ranks of a machine may run on, together.
class SharedCores {
 public:
  SharedCores(Seats seats, Platform& platform) : seats_(seats), platform_(platform) {}

  int count() const;
  /// Whether the ranks outnumber them.
  bool oversubscribed() const { return seats_.size() > count(); }

 private:
  Seats seats_;
  Platform& platform_;
  mutable int count_ = 0;  ///< Known once every rank has joined.
};

class Roster {
 public:
  /// The rank of a machine whose process has the agent's thread, where there are several machines.
  static constexpr int kAgentsRank = 0;

  /// On memory that is prepared (Seats::prepare).
  Roster(std::byte* memory, int local_rank, Platform& platform);

  // What is said of a rank is asked by its local rank; messages name it by its rank in the world.
  int local_rank() const { return local_rank_; }
  int local_size() const { return seats_.size(); }
  int rank_of(int local_rank) const { return static_cast<int>(seats_[local_rank].rank); }
  int rank() const { return rank_of(local_rank_); }
  int world_size() const { return seats_.world_size(); }
  /// Whether the world has other machines.
  bool across() const { return world_size() != local_size(); }

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
  void check_seat() const {
    if (!may_speak()) [[unlikely]]
      refuse_seat();
  }

  /// Whether waiting for the rank makes sense: it is there, or may still come.
  bool expected(int local_rank) const {
    const Life life = seats_.life(local_rank);
    return life == Life::present || life == Life::absent;
  }
  bool dead(int local_rank) const { return seats_.life(local_rank) == Life::dead; }
  /// Those of this machine, by their ranks in the world.
  RankSet dead() const;
  /// Whether its process is not gone, though the rank may have left.
  bool has_process(int local_rank) const;
  /// Asks the platform about every present rank; returns whether a death was found.
  bool look_after();
  /// "rank 3 (pid 4711, stopped)".
  std::string describe(int local_rank) const;

  const SharedCores& cores() const { return cores_; }
  /// For what else lies at the seats: proposals, and how waits ended.
  const Seats& seats() const { return seats_; }

 private:
  [[noreturn]] void refuse_seat() const;

  Seats seats_;
  Platform& platform_;
  SharedCores cores_;
  Origin origin_;
  int local_rank_;
};

/// How the last wait of the roster's rank ended. After a timeout, what it waited for may never
/// come.
inline void note_wait(const Roster& roster, bool in_vain) {
  Shared<std::uint8_t>& mine = roster.seats()[roster.local_rank()].in_vain;
  if ((mine.load_relaxed() != 0) != in_vain) mine.store(in_vain ? 1 : 0);
}
inline bool waited_in_vain(const Roster& roster, int local_rank) {
  return roster.seats()[local_rank].in_vain.load() != 0;
}

}  // namespace syncopate::board
