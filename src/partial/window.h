// How far the ranks have read, and how far others may be ahead of them.
//
// Invariants
// 1. A rank releases only what is published, or what it has settled, and never takes it back.
//      check: release_through, release_through_and_wait   test: NothingIsReleasedBeforeItIsThere
// 2. No round starts before every rank that follows has seen the round `window` before it.
//      check: RunningRound::start, MachineRounds::take    test: NoRoundStartsBeyondTheWindow
// 3. A rank that the window holds up says so before it looks again. A rank that releases a round
//    looks for that afterwards. So one of them always notices the other.
//      test: tests/explorer (a rank that sleeps though a round could start)
#pragma once

#include <algorithm>

#include "partial/notifier.h"
#include "partial/participants.h"

namespace syncopate::partial {

class Window {
 public:
  Window(const Memory& memory, const Shape& shape, const Settled& settled,
         const Participants& participants, const Notifier& notifier)
      : memory_(memory),
        shape_(shape),
        settled_(settled),
        participants_(participants),
        notifier_(notifier) {}

  // This rank.
  RoundNumber seen() const { return memory_.ranks[participants_.me()].seen.load_relaxed(); }
  /// It has read all rounds up to this one. Tells those who have waited for it.
  void release_through(RoundNumber round);
  /// The same, and says that it waits for `next`: one store orders both.
  void release_through_and_wait(RoundNumber round, RoundNumber next);

  // The others.
  /// Whether every rank that follows has seen `round − window`.
  bool allows(RoundNumber round);
  /// The same, looked at afresh and without a trace. For checks.
  bool holds(RoundNumber round) const;
  /// This rank waits until others release results.
  void set_blocked() { memory_.news->blocked.store(1); }
  /// A bound from below on what every rank has seen; and the same after a look at every rank.
  RoundNumber seen_by_all() const { return slowest_; }
  RoundNumber look_at_all();

 private:
  void unblock();
  /// What this rank may have read by now.
  RoundNumber readable() const { return std::max(memory_.news->event.number(), settled_.through); }

  const Memory& memory_;
  const Shape& shape_;
  const Settled& settled_;
  const Participants& participants_;
  const Notifier& notifier_;
  RoundNumber slowest_ = 0;
};

}  // namespace syncopate::partial
