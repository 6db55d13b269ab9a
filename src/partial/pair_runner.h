// Rounds that two ranks settle between themselves. Two ranks that wait for each other with few
// bytes need no rank to start a round, or publish it: once both have made firm deposits it is known
// what the round holds, and each reads the other's deposit and sums up for itself. Where a round
// needs more (one of the two is gone, or does not wait) it runs as any other.
//
// Invariants (tests: tests/partial/settled_rounds_test.cpp and plans of pairs in tests/explorer)
// 1. A firm deposit is for one round, alone in the slot of that round. Its rank deposits nothing
//    more before that round is over. Its note says so before the deposit is put: the swap that puts
//    it orders the note and the look at the other's. So of two ranks that come at once one sees
//    both notes, and a rank that sees the deposit in the word sees that it is firm.
//      check: deposit (the slot; the deposit arrived alone)
// 2. Once both notes say `round`, its contributors are fixed. Both ranks sum up the same values in
//    the same order. Each settles a round once, and none after a later one.
//      check: sum_up
// 3. A rank's word says with its next deposit that the round took the last (Deposits::note_taken).
//    Before a round runs in the plain way, the settled ones are published as rounds of which each
//    rank has a result of its own (catch_up).
//      check: RunningRound::start (the round before it is published)
// 4. A rank that gives up takes its note back first. If the two have met all the same, the round is
//    settled.
//      test: tests/explorer, plans with timeouts
#pragma once

#include "partial/local_runner.h"
#include "partial/pair.h"

namespace syncopate::partial {

class PairRunner {
 public:
  PairRunner(Board& board, Starter& starter, board::Roster& roster, board::Platform& platform);

  bool expect(const Arrival& arrival);
  void deposit(const Arrival& arrival, Time& arrived_at);
  void begin_waiting() {}
  bool has_result(RoundNumber next) const {
    return board_.settled.through == next || rounds_.has_result(next);
  }
  bool settle(RoundNumber next);
  bool looks_at_once() const { return came_last_; }
  Time advance(RoundNumber next, Time now);
  void poll(RoundNumber next, Time now) { advance(next, now); }
  /// What changes when the other makes its firm deposit.
  board::Watched watched(RoundNumber next) const;
  bool give_up(RoundNumber next);
  void offer(RoundNumber next) {
    const bool settled = board_.settled.through == next;
    if (settled && firm_for_ == next) return;  // What both have waited for is there.
    rounds_.offer(settled ? next + 1 : next, [this] { catch_up(); });
  }
  std::string blame(RoundNumber round) const { return rounds_.blame(round); }

 private:
  int other() const { return Pair::other(board_.participants); }
  Shared<RoundNumber>& firm(int rank, RoundNumber round) const {
    return Pair::firm(board_.memory, rank, round);
  }
  /// Whether this rank waits with a firm deposit, and the other has one for `round`, too.
  bool could_settle(RoundNumber round) const {
    return firm_for_ == round && firm(other(), round).load() == round;
  }
  /// Sums `round` up for this rank alone. The result stays until the next one is settled.
  void sum_up(RoundNumber round);
  /// Lets all know that the rounds which this rank has settled are over.
  void catch_up() { board_.running.catch_up_to(board_.settled.through); }

  Board& board_;
  Starter& starter_;
  board::Platform& platform_;
  LocalRunner rounds_;        ///< The plain way.
  RoundNumber firm_for_ = 0;  ///< The round that the last deposit is firm for; 0: it is not firm.
  bool came_last_ = true;     ///< As far as the last deposit could tell.
};

static_assert(Runner<PairRunner>);

}  // namespace syncopate::partial
