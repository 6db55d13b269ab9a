// The plain way to run the round of a group, on one machine: a member that waits runs it, together
// with all other members that wait. There is no thread behind it.
//
// The two ways to run a round (this one and agent_runner.h) have the same functions, by which
// exchange.h drives them. `group` is this rank's group at the step that it is in.
//   begin       the rank has published its weights for the step
//   begin_wait  the rank begins to wait for the mean, or asks for it
//   advance     does what can be done for the round
//   free_slots  the rank lacks a slot to go on with: finishes rounds ahead that read them
//   agent       what the agent has to do with what is waited for
//   awaited     the rank that is waited for; blame: the same in words; dead: who has died
//   notify      there is something new on the board
//   check       throws if rounds cannot go on
#pragma once

#include <string>
#include <vector>

#include "board/wait.h"
#include "group/starter.h"
#include "syncopate/rank_set.h"

namespace syncopate::group {

/// What a look at a round has found.
struct Outlook {
  Time again_at = board::kNever;  ///< When to look again even without news.
  bool releases = false;          ///< Waits for ranks that catch up; otherwise for its members.
};

class LocalRunner {
 public:
  LocalRunner(Board& board, const Membership& membership, const GroupOptions& options,
              board::Roster& roster, board::Platform& platform);

  void begin(const OwnGroup& /*group*/) { blocked_ = false; }
  void begin_wait(const OwnGroup& /*group*/) {}
  Outlook advance(const OwnGroup& group, Time now);
  Outlook free_slots(const OwnGroup& group, Time now);
  board::Wait::Agent agent(const OwnGroup& /*group*/) const {
    return board::Wait::Agent::left_alone;
  }
  int awaited(const OwnGroup& group) const;
  std::string blame(const OwnGroup& group) const;
  RankSet dead() const { return roster_.dead(); }
  void notify() {}
  void check() const {}

  /// Whether the last look found the window, or the lack of a buffer, in the way.
  bool blocked() const { return blocked_; }

 private:
  /// Whether the round waits for `rank` to come, or to catch up.
  bool awaits(const OwnGroup& group, int rank) const;
  bool holds_chunk(const LocalGroup& where, int rank) const;
  /// Whether `rank` keeps this one from the end of its step.
  bool holds_up(const OwnGroup& group, int rank) const;
  /// Sums up what can be summed up; returns when to look again.
  Time help(const LocalGroup& where, board::Stall& stall, Time now);

  Board& board_;
  const Membership& membership_;
  board::Roster& roster_;
  Starter starter_;
  board::Stall stall_;
  std::vector<board::Stall> stalls_ahead_;  ///< Of rounds that this rank is not in yet.
  int helpers_;           ///< How many sleepers are worth waking to help with a large round.
  bool blocked_ = false;  ///< As the last look found.
};

}  // namespace syncopate::group
