// What one machine knows of the round to come, and which machine coordinates it. The parts of an
// agreement (agreement.h) go by it: when the round starts, what the coordinator asks, what the
// others tell.
#pragma once

#include <cstdint>

#include "round/known_facts.h"
#include "round/machines.h"
#include "round/time.h"
#include "round/trigger.h"
#include "syncopate/policy.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

struct RoundState {
  RoundState(const Trigger& rule, int rounds, Machines where, int own_machine,
             std::uint64_t rounds_before);

  /// Another round begins, with what all machines have just heard of each other.
  void begin();

  bool coordinates() const { return coordinator == machine; }
  /// The round that every rank has to have seen before this one may start.
  std::uint64_t needed() const { return next > window ? next - window : 0; }
  bool window_allows() const { return known.all_have_seen(needed()); }
  /// The rank that starts the round with the trigger `majority`; -1: none counts.
  int drawn() const { return known.drawn(trigger, next); }
  bool own_ranks_are_here() const {
    return own.everyone_here() && (own.waits || own.counting.empty());
  }
  /// Ranks that the round waits for, in world numbers.
  RankSet missing() const;
  /// Adds those of machine `on` that count and have not come.
  void insert_absent(RankSet& ranks, int on) const;

  Trigger trigger;
  std::uint64_t window;
  int machine;
  Machines machines;

  std::uint64_t next;
  KnownFacts known;
  Facts own;  ///< As this machine's board said last, before it took part.
  int coordinator = 0;
  bool held_up = false;         ///< Some rank was known to all to lag when the round before ended.
  int held_up_by = -1;          ///< The rank for whose lag it did not start, though it was wanted.
  Time waiting_since = kNever;  ///< When this machine first waited for the round.
  Time open_since = kNever;     ///< When the trigger was first seen to hold.
};

}  // namespace syncopate::round
