// The results of rounds that some rank has not seen yet: which rounds are published, where they
// lie, and how far the ranks have read.
//
// Invariants
// 1. A round is published by one swap of its ring entry, from an older round to itself. The first
//    complete attempt wins, and all ranks read that one.
//      check: publish, MachineRounds::publish             test: tests/explorer
// 2. The counter of published rounds follows the ring, by one at a time. (Rounds that a pair has
//    settled are published together: pair_runner.h.)
//      check: advance                                     test: NoPublicationIsSkipped
// 3. A published result does not change until every rank that follows has released its round.
//      check: RunningRound::start (holds_nothing)         test: ABufferInUseIsNotReused
// 4. A rank releases only what is published, or what it has settled, and never takes it back.
//      check: release_through, release_through_and_wait   test: NothingIsReleasedBeforeItIsThere
// 5. The ring is longer than the window, so that no entry is written over that a rank may yet read.
//      check: publish (the entry that goes is out of the window) test: tests/explorer
#pragma once

#include <algorithm>
#include <vector>

#include "board/reduction.h"
#include "partial/participants.h"

namespace syncopate::partial {

class Results {
 public:
  Results(const Memory& memory, const Shape& shape, const Settled& settled,
          const Participants& participants, const board::Roster& roster, board::Platform& platform);

  RoundNumber published() const { return memory_.news->event.number(); }
  /// Whether the ring has the round, though the counter of published rounds may not have followed
  /// yet.
  bool entered(RoundNumber round) const {
    return AttemptWord::unpack(memory_.ring[round % shape_.ring()].load()).round == round;
  }
  /// The buffer of a round that is published, or settled by this rank, and that it has not
  /// released; kNoBuffer for others.
  int buffer_of(RoundNumber round) const {
    return round == settled_.through && round > 0 ? own_buffer() : published_buffer(round);
  }
  /// Whether that round is the last one.
  bool is_last(RoundNumber round) const {
    const AttemptWord entry = entry_of(round);
    return entry.round == round && entry.last;
  }
  /// Buffers with their headers and values.
  board::Reduction& buffers() { return buffers_; }
  const board::Reduction& buffers() const { return buffers_; }
  /// Where this rank sums up rounds for itself alone.
  int own_buffer() const { return shape_.buffers() + participants_.me(); }

  // What this rank has read.
  RoundNumber seen() const { return memory_.ranks[participants_.me()].seen.load_relaxed(); }
  /// Returns whether a rank had waited for a release.
  bool release_through(RoundNumber round);
  /// The same, and says that this rank waits for `next`: one store orders both.
  bool release_through_and_wait(RoundNumber round, RoundNumber next);

  // What the others have read.
  /// Whether every rank that follows has seen `round − window`.
  bool window_allows(RoundNumber round);
  /// The same, looked at afresh and without a trace; and whether no rank may yet read `buffer` for
  /// a round up to `last`. For checks.
  bool in_window(RoundNumber round) const;
  bool holds_nothing(int buffer, RoundNumber last) const;
  /// This rank waits until others release results.
  void set_blocked() { memory_.news->blocked.store(1); }

  // For those who run rounds.
  /// Looks at every rank for how far it has read.
  void look_at_all() { slowest(); }
  /// A buffer for the round after `published`, other than `avoid`; kNoBuffer if there is none.
  int free_buffer(RoundNumber published, int avoid);
  /// The same for the sum of this machine alone.
  int free_stage(int avoid) const;
  /// Publishes the round of `attempt`, unless another attempt at it was published first.
  void publish(AttemptWord attempt);
  /// Lets the counter of published rounds follow the ring.
  void advance(RoundNumber round);

 private:
  AttemptWord entry_of(RoundNumber round) const;
  int published_buffer(RoundNumber round) const;
  RoundNumber slowest();
  bool unblock();
  /// What this rank may have read by now.
  RoundNumber readable() const { return std::max(published(), settled_.through); }

  const Memory& memory_;
  const Shape& shape_;
  const Settled& settled_;
  const Participants& participants_;
  board::Platform& platform_;
  board::Reduction buffers_;
  /// Ring entries this rank has read: what is published does not change.
  mutable std::vector<AttemptWord> known_;
  RoundNumber slowest_ = 0;  ///< A bound from below on what every rank has seen.
};

}  // namespace syncopate::partial
