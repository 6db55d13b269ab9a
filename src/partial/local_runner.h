// The plain way to run rounds, on one machine: a rank that waits runs the round, together with all
// others that wait. There is no thread behind it; a rank that computes does nothing.
//
// The three ways to run a round (this one, pair_runner.h, agent_runner.h) have the same functions,
// by which exchange.h drives them. `next` is the round that this rank waits for or will.
//   before_deposit   before the deposit is described; whether the clock may be read later
//   before_put       the deposit is described, and about to be put on the board
//   after_deposit    it is there
//   has_result       whether the next round can be read
//   settle           whether this rank can make its result without a round
//   looks_at_once    whether a rank that begins to wait should look at the board at all
//   advance          does what can be done for the next round; returns when to look again without
//   news watched          what changes beside the news give_up          the deadline has passed;
//   whether the result is there after all delivered        the rank has its result releases whether
//   the others wait until this rank lets go of a round offer            starts a round for ranks
//   that wait, by one that does not notify           there is something new on the board
//   notify_waiting   the same, by a rank that is about to wait; notify_polling: by one that asks
//   again and again check            throws if rounds cannot go on blame, dead      whom the rank
//   waits for, in words; who has died
#pragma once

#include <algorithm>
#include <string>

#include "board/wait.h"
#include "partial/board.h"
#include "partial/starter.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::partial {

using detail::Then;

class LocalRunner {
 public:
  LocalRunner(Board& board, Starter& starter, board::Roster& roster, board::Platform& platform);

  bool before_deposit(int /*slot*/, RoundNumber /*next*/, Then /*then*/) {
    if (last_in_a_row_ >= kLikelyLastAgain) board_.running.prefetch_next(board_.participants.me());
    return false;
  }
  void before_put(int /*slot*/, RoundNumber /*next*/) {}
  void after_deposit(Deposits::Put put, RoundNumber next, Then then, Time& arrived_at);

  bool has_result(RoundNumber next) const { return board_.results.published() >= next; }
  bool settle(RoundNumber /*next*/) { return false; }
  /// If a round needs all, the last to arrive runs it. The others leave the board alone at first,
  /// as their looks would only get in its way.
  bool looks_at_once() const { return came_last_; }
  Time advance(RoundNumber next, Time now);
  board::Watched watched(RoundNumber /*next*/) const { return {}; }
  bool give_up(RoundNumber /*next*/) { return false; }
  void delivered() {}
  bool releases(RoundNumber /*round*/) const { return true; }
  void offer(RoundNumber next) {
    offer(next, [] {});
  }
  /// `before_start` is called before the round starts.
  template <typename BeforeStart>
  void offer(RoundNumber next, const BeforeStart& before_start);
  void notify() {}
  void notify_waiting() {}
  void notify_polling(RoundNumber /*next*/) {}
  void check() const {}
  RankSet dead() const { return roster_.dead(); }
  std::string blame(RoundNumber round) const;

  // For the pair, which falls back on this way.
  /// Starts the round and wakes those who can help. Returns when to look again if no buffer is
  /// free; else 0.
  Time start(RoundNumber next, bool last, Time now);
  /// Sums up what can be summed up; returns when to look again.
  Time help(Time now);

 private:
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
  const Starter::Outlook outlook = starter_.look(round, platform_.now());
  if (!board_.participants.anyone_waits(round)) return;
  if (outlook.start) {
    before_start();
    board_.running.start(round, outlook.last);
    board_.signal();
  } else if (outlook.again_at != board::kNever) {
    board_.signal();  // Those who wait must now watch the end of the grace.
  }
}

}  // namespace syncopate::partial
