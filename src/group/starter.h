// When the round of a group on one machine may start: the one place that puts window, trigger and
// grace together. (Between machines the same rules are applied to what messages say:
// round/group_agreement.h.)
#pragma once

#include "group/board.h"
#include "group/membership.h"
#include "syncopate/policy.h"

namespace syncopate::group {

class Starter {
 public:
  struct Outlook {
    bool start = false;             ///< The round may start now.
    bool blocked = false;           ///< A rank lags by more than the window.
    Time again_at = board::kNever;  ///< When to look again even without news.
  };

  Starter(Board& board, const Trigger& trigger, const Grace& grace)
      : board_(board), trigger_(trigger), grace_(grace) {}

  /// For a member that waits. The order of the rules:
  ///   1. every rank has seen the step `window` before it;
  ///   2. all members are there; or the trigger does not wait for them, nor is it everyone's step,
  ///   3. and the grace is over.
  Outlook look(const OwnGroup& group, Time now);

  /// Whether the round waits for a member that has not published its weights yet.
  bool is_missing(const OwnGroup& group, int rank) const {
    return board_.participants.counts(rank) && board_.publications.newest(rank).step < group.step;
  }

 private:
  bool window_allows(RoundNumber step);
  /// By this rank's own typical step.
  Duration grace() const;

  Board& board_;
  Trigger trigger_;
  Grace grace_;
};

}  // namespace syncopate::group
