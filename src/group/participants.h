// Who takes part in a group average, and what each rank says of itself. Read from the board at the
// moment of the question. Ranks are counted within the machine.
//
// Invariants
// 1. A rank writes only its own state; the others read it. (A launcher or a waiting rank notes
//    deaths in the roster.)
//      by construction: all writes are to me()        test: GroupExplorer
// 2. A rank that has left, or is dead, does not count again.
//      by construction: `left` is written once        test: WhoLeftLongAgoIsForgottenForEver
#pragma once

#include "board/roster.h"
#include "group/memory.h"

namespace syncopate::group {

class Participants {
 public:
  Participants(const Memory& memory, const Shape& shape, const board::Roster& roster)
      : memory_(memory), shape_(shape), roster_(roster) {}

  int me() const { return roster_.local_rank(); }
  /// Whether rounds use the weights of a rank, and may wait for it.
  bool counts(int rank) const { return memory_.left[rank].load() == 0 && roster_.expected(rank); }
  /// This rank goes, for good.
  void leave() { memory_.left[me()].store(1); }

  RoundNumber seen(int rank) const { return memory_.ranks[rank].seen.load(); }
  /// Whether `rank` has yet to see `step − window`, so that `step` waits for it.
  bool holds_up(int rank, RoundNumber step) const {
    return counts(rank) && seen(rank) + shape_.window < step;
  }

  /// Says that this rank waits for the mean of a step.
  void set_waiting(RoundNumber step) { memory_.ranks[me()].waiting.store(step); }
  bool waits(int rank, RoundNumber step) const {
    return memory_.ranks[rank].waiting.load() == step;
  }

  void note_step_time(Duration time) { memory_.ranks[me()].step_time.store_relaxed(time.count()); }
  Duration step_time(int rank) const {
    return Duration(memory_.ranks[rank].step_time.load_relaxed());
  }

 private:
  const Memory& memory_;
  const Shape& shape_;
  const board::Roster& roster_;
};

}  // namespace syncopate::group
