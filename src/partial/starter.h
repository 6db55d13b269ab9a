// When the next round of a machine's own may start: the one place that puts trigger, window and
// grace together. (Between machines the same rules are applied to what messages say:
// round/agreement.h.)
#pragma once

#include "partial/board.h"
#include "round/trigger.h"

namespace syncopate::partial {

class Starter {
 public:
  struct Outlook {
    bool start = false;             ///< The round may start now,
    bool last = false;              ///< and it is the last one.
    Time again_at = board::kNever;  ///< When to look again even without news.
  };

  /// Who asks.
  enum class Asker {
    waits,   // a rank that waits for the round, or polls
    offers,  // one that does not, for those who do
  };

  Starter(Board& board, const Trigger& trigger, const Grace& grace);

  /// Of `round`. The order of the rules:
  ///   1. the trigger holds; or, for a rank that only follows, no rank is left that does more;
  ///   2. every rank has seen the round `window` before it;
  ///   3. all have come, or the grace is over;
  ///   4. a rank waits for it.
  Outlook look(RoundNumber round, Time now, Asker asker = Asker::waits);

  /// The rank whose lag held the round up at the last look; -1: none did.
  int blocked_by() const { return blocked_by_; }
  void forget_who_blocked() { blocked_by_ = -1; }
  /// The rank that must come for the trigger `majority`; -1: none counts any more.
  int drawn(RoundNumber round) const;
  const Trigger& trigger() const { return trigger_; }

 private:
  round::Attendance attendance(RoundNumber round) const;
  bool window_allows(RoundNumber round);
  Duration grace() const;

  Board& board_;
  Trigger trigger_;
  Grace grace_;
  int blocked_by_ = -1;
};

}  // namespace syncopate::partial
