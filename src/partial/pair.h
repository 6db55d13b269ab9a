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
};

}  // namespace syncopate::partial
