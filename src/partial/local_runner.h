// The plain way to run rounds, on one machine: a rank that waits runs the round, together with all
// others that wait. There is no thread behind it; a rank that computes does nothing.
//
// Invariants
// 1. A round starts only when the starter says so (starter.h): the trigger holds, the window and the
//    grace allow it, and a rank waits for it.
//      check: RunningRound::start (the window)            test: tests/explorer (check_start)
// 2. No rank sleeps while a round could start that it waits for: a rank that comes starts it, or is
//    seen by the one that waits.
//      test: tests/explorer (a rank that sleeps though a round could start)
// 3. No rank waits for one that is stopped in the middle of a chunk: after some patience another
//    attempt starts.
//      check: RunningRound::retry                         test: tests/fault/stall_test.cpp
#pragma once

#include <algorithm>
#include <string>

#include "board/wait.h"
#include "partial/board.h"
#include "partial/runner.h"
#include "partial/starter.h"
#include "partial/then.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::partial {

class LocalRunner {
 public:
  LocalRunner(Board& board, Starter& starter, board::Roster& roster, board::Platform& platform);

  bool expect(const Arrival& /*arrival*/) {
    if (last_in_a_row_ >= kLikelyLastAgain) board_.running.prefetch_next(board_.participants.me());
    return false;
  }
  void deposit(const Arrival& arrival, Time& arrived_at);

  void begin_waiting() {}
  bool has_result(RoundNumber next) const { return board_.results.published() >= next; }
  bool settle(RoundNumber /*next*/) { return false; }
  /// If a round needs all, the last to arrive runs it. The others leave the board alone at first,
  /// as their looks would only get in its way.
  bool looks_at_once() const { return came_last_; }
  Time advance(RoundNumber next, Time now);
  void poll(RoundNumber next, Time now) { advance(next, now); }
  board::Watched watched(RoundNumber /*next*/) const { return {}; }
  bool give_up(RoundNumber /*next*/) { return false; }
  void offer(RoundNumber next) {
    offer(next, [] {});
  }
  /// `before_start` is called before the round starts.
  template <typename BeforeStart>
  void offer(RoundNumber next, const BeforeStart& before_start);
  std::string blame(RoundNumber round) const;

 private:
  friend class PairRunner;  // It falls back on this way.

  /// Starts the round and wakes those who can help. Returns when to look again if no buffer is
  /// free; else 0.
  Time start(RoundNumber next, bool last, Time now);
  /// Sums up what can be summed up; returns when to look again.
  Time help(Time now);
  /// A rank that came last so often in a row is expected to do so again. Among ranks that are even
  /// this is rare, and to ask for the deposits of ranks that are yet to make them would hold these
  /// up.
  static constexpr int kLikelyLastAgain = 4;

  Board& board_;
  Starter& starter_;
  board::Roster& roster_;
  board::Platform& platform_;
  board::Stall stall_;
  int helpers_;            ///< How many sleepers are worth waking to help with a large round.
  bool came_last_ = true;  ///< As far as the last deposit could tell.
  int last_in_a_row_ = 0;  ///< How often the last deposits completed the round.
};

template <typename BeforeStart>
void LocalRunner::offer(RoundNumber next, const BeforeStart& before_start) {
  const RoundNumber round = std::max(board_.results.published() + 1, next);
  if (board_.running.attempt().round >= round) return;
  const Starter::Outlook outlook = starter_.look(round, platform_.now(), Starter::Asker::offers);
  if (outlook.start) {
    before_start();
    board_.running.start(round, outlook.last);
    board_.signal();
  } else if (outlook.again_at != board::kNever) {
    board_.signal();  // Those who wait must now watch the end of the grace.
  }
}

static_assert(Runner<LocalRunner>);

}  // namespace syncopate::partial
