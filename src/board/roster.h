// Who is in the world of one machine, as one rank sees it: which ranks there are, and who lives.
// Nothing here is ever locked; a rank may die at any point.
//
// What always holds, the check that guards it, and its test:
//
// 1. A life goes from absent to present to left or dead, or from absent to dead; what has left or
//    is dead stays so. (SYNCOPATE_CHECK in Seats::set_life.
//    RosterTest.TheLauncherDoesNotTurnALeaverIntoADeadRank)
// 2. A rank is found dead only once it was present, and only the launcher says so of one that never
//    came. (look_after() asks of present ranks only.
//    RosterTest.WhoHasNotJoinedIsExpectedUntilTheLauncherSaysOtherwise)
// 3. A rank's proposals have the numbers 1, 2, 3 …; only its own process raises them, by one.
//    (SYNCOPATE_CHECK in Proposals::propose. AgreementsTest.RanksAgreeInStepAndSeeWhoDoesNot)
#pragma once

#include <string>

#include "board/own_seat.h"
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

  /// This rank's own.
  OwnSeat& seat() { return own_; }
  const OwnSeat& seat() const { return own_; }

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
  Seats seats_;
  Platform& platform_;
  SharedCores cores_;
  OwnSeat own_;
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
