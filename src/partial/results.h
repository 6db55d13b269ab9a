// The results of rounds that some rank has not seen yet: which rounds are published, and where they
// lie.
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
// 4. The ring is longer than the window, so that no entry is written over that a rank may yet read.
//      check: publish (the entry that goes is out of the window) test: tests/explorer
#pragma once

#include <vector>

#include "board/reduction.h"
#include "partial/window.h"

namespace syncopate::partial {

class Results {
 public:
  Results(const Memory& memory, const Shape& shape, const Settled& settled,
          const Participants& participants, const Window& window, const board::Roster& roster,
          board::Platform& platform);

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

  /// Whether no rank may yet read `buffer` for a round up to `last`. For checks.
  bool holds_nothing(int buffer, RoundNumber last) const;

  // For those who run rounds.
  /// A buffer for the round after `published`, other than `avoid`; kNoBuffer if there is none, as
  /// far as it is known how far the ranks have read.
  int free_buffer(RoundNumber published, int avoid) const;
  /// Publishes the round of `attempt`, unless another attempt at it was published first.
  void publish(AttemptWord attempt);
  /// Lets the counter of published rounds follow the ring.
  void advance(RoundNumber round);

 private:
  AttemptWord entry_of(RoundNumber round) const;
  int published_buffer(RoundNumber round) const;

  const Memory& memory_;
  const Shape& shape_;
  const Settled& settled_;
  const Participants& participants_;
  const Window& window_;
  board::Platform& platform_;
  board::Reduction buffers_;
  /// Ring entries this rank has read: what is published does not change.
  mutable std::vector<AttemptWord> known_;
};

}  // namespace syncopate::partial
