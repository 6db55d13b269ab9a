// The results of rounds: the buffers they are made in, and when a buffer is free for another round.
//
// Invariants
// 1. A buffer is taken by one swap of its reservation. It stays taken until the rank that took it,
//    and every member of the group it was taken for that still counts, have seen the step.
//      check: publish                                 test: ABufferInUseIsNotTakenAgain
// 2. A buffer that the agent holds is not taken by others before let_go(), even if all members are
//    gone.
//      check: let_go                                  test: ABufferIsTheAgentsUntilItPublishes…
// 3. After an attempt was given up, no buffer is taken in which a helper may still write.
//      by construction: take (in_use)                 test: GroupExplorer, GroupRetry
// 4. A record goes on to results of later steps only. Of a step that ranks run it gets one result.
//      check: publish_alone                           test: GroupExplorer
#pragma once

#include "board/reduction.h"
#include "group/window.h"

namespace syncopate::group {

class Results {
 public:
  Results(std::byte* memory, const Memory& parts, const Shape& shape,
          const Participants& participants, Window& window, const board::Roster& roster);

  /// The finished result of a group's round; kNoBuffer if there is none yet.
  int buffer_of(const LocalGroup& where) const;
  /// Buffers with their headers and values.
  board::Reduction& buffers() { return buffers_; }
  const board::Reduction& buffers() const { return buffers_; }

  /// Takes a buffer for a group's round in which this rank is; kNoBuffer if none is free.
  int reserve(const LocalGroup& where);
  /// Of two ranks that took one for the same attempt, one gives its own back.
  void give_back(int buffer, RoundNumber step);
  /// For the agent: takes a buffer and holds it. In the name of a member, as the agent's own rank
  /// may be in another group and ahead.
  int hold(const LocalGroup& where);
  /// From now on it is free as any other, when its users have seen the step.
  void let_go(int buffer, const LocalGroup& where);
  /// Tells one use of a buffer from another. Steps come in any order from group to group.
  std::uint64_t use_of(int buffer) const { return memory_.uses[buffer].load(); }
  /// An attempt is given up: a helper may write into its buffer later.
  void note_abandoned() { memory_.news->abandoned.store(1); }

  /// Publishes a complete attempt; false if another attempt at the same round came first.
  bool publish(const LocalGroup& where, AttemptWord attempt);
  /// The same for the agent, who alone runs the round.
  void publish_alone(const LocalGroup& where, int buffer);

 private:
  int take(const LocalGroup& where, Reservation mine);
  bool reusable(int buffer, std::uint64_t reservation) const;
  RoundNumber reserved_for(int buffer) const {
    return Reservation::unpack(memory_.reservations[buffer].load_relaxed()).step;
  }

  const Memory& memory_;
  const Shape& shape_;
  const Participants& participants_;
  Window& window_;
  board::Reduction buffers_;
};

}  // namespace syncopate::group
