// When the next round of a machine's own may start: the rule of round/start.h, applied to what the
// board says.
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

  /// Of `round`. For a rank that only follows, the trigger holds when no rank is left that does
  /// more.
  Outlook look(RoundNumber round, Time now, Asker asker = Asker::waits);

  /// The rank whose lag held the round up at the last look; -1: none did.
  int blocked_by() const { return blocked_by_; }
  void forget_who_blocked() { blocked_by_ = -1; }
  /// The rank that must come for the trigger `majority`; -1: none counts any more.
  int drawn(RoundNumber round) const;
  const Trigger& trigger() const { return trigger_; }

 private:
  struct Look;

  round::Attendance attendance(RoundNumber round) const;
  bool window_allows(RoundNumber round);
  Duration grace() const;

  Board& board_;
  Trigger trigger_;
  Grace grace_;
  int blocked_by_ = -1;
};

}  // namespace syncopate::partial
