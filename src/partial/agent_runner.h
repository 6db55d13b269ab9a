// Rounds in a world of several machines: the agents of the machines start them and publish them
// (partial/task.h). A rank tells its machine's agent what is new, and helps with the
// machine's own sum while it waits.
#pragma once

#include <string>

#include "agent/handle.h"
#include "board/wait.h"
#include "partial/board.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::partial {

class AgentRunner {
 public:
  using Then = detail::Then;

  AgentRunner(Board& board, board::Roster& roster, board::Platform& platform,
              detail::AgentHandle agent)
      : board_(board), roster_(roster), agent_(agent), stall_(roster, platform) {}

  bool before_deposit(int /*slot*/, RoundNumber /*next*/, Then /*then*/) { return false; }
  void before_put(int /*slot*/, RoundNumber /*next*/) {}
  void after_deposit(Deposits::Put /*put*/, RoundNumber /*next*/, Then then, Time& /*arrived_at*/) {
    then == Then::wait ? notify_waiting() : notify();
  }
  bool has_result(RoundNumber next) const { return board_.results.published() >= next; }
  bool settle(RoundNumber /*next*/) { return false; }
  bool looks_at_once() const { return true; }
  Time advance(RoundNumber next, Time now);
  board::Watched watched(RoundNumber /*next*/) const { return {}; }
  bool give_up(RoundNumber /*next*/) { return false; }
  void delivered() {}
  bool releases(RoundNumber /*round*/) const { return true; }
  void offer(RoundNumber /*next*/) { notify(); }
  void notify() { agent_.call(); }
  void notify_waiting() { agent_.notify_unless_driving(); }
  void notify_polling(RoundNumber next);
  void check() const { agent_.check(); }
  RankSet dead() const { return agent_.dead(roster_); }
  std::string blame(RoundNumber round) const;

 private:
  Board& board_;
  board::Roster& roster_;
  detail::AgentHandle agent_;
  board::Stall stall_;
};

}  // namespace syncopate::partial
