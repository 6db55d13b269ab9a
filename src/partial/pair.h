// Where the two ranks of a pair look for each other's deposits (pair_runner.h).
#pragma once

#include "partial/participants.h"

namespace syncopate::partial {

struct Pair {
  /// Deposits that a rank waits with lie in two slots in turn, so that the other knows where to
  /// look.
  static int slot_of(RoundNumber round) { return static_cast<int>(round % 2); }

  static int other(const Participants& participants) { return 1 - participants.me(); }
  /// Whether the other reads nothing any more that `round` took.
  static bool has_seen(const Participants& participants, RoundNumber round) {
    const int rank = other(participants);
    return participants.seen(rank) >= round || !participants.follows(rank);
  }

  /// Says that the deposit of `rank` is sure to be in `round`, if it holds that number.
  static Shared<RoundNumber>& firm(const Memory& memory, int rank, RoundNumber round) {
    return memory.note(rank, slot_of(round)).firm;
  }
  static bool both_firm(const Memory& memory, RoundNumber round) {
    return firm(memory, 0, round).load() == round && firm(memory, 1, round).load() == round;
  }
};

}  // namespace syncopate::partial
