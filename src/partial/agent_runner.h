// Rounds in a world of several machines: the agents of the machines start them and publish them
// (partial/task.h). A rank tells its machine's agent what is new, and helps with the
// machine's own sum while it waits.
#pragma once

#include <string>

#include "agent/handle.h"
#include "board/wait.h"
#include "partial/board.h"
#include "partial/runner.h"
#include "partial/then.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::partial {

class AgentRunner {
 public:
  AgentRunner(Board& board, board::Roster& roster, board::Platform& platform,
              agent::AgentHandle agent)
      : board_(board), roster_(roster), agent_(agent), stall_(roster, platform) {}

  bool expect(const Arrival& /*arrival*/) { return false; }
  void deposit(const Arrival& arrival, Time& arrived_at) {
    board_.deposits.put(arrival.slot, arrival.next - 1, arrived_at);
    arrival.then == Then::wait ? begin_waiting() : agent_.call();
  }
  void begin_waiting() { agent_.notify_unless_driving(); }
  bool has_result(RoundNumber next) const { return board_.results.published() >= next; }
  bool settle(RoundNumber /*next*/) { return false; }
  bool looks_at_once() const { return true; }
  Time advance(RoundNumber next, Time now);
  void poll(RoundNumber next, Time now);
  board::Watched watched(RoundNumber /*next*/) const { return {}; }
  bool give_up(RoundNumber /*next*/) { return false; }
  void offer(RoundNumber /*next*/) { agent_.call(); }
  std::string blame(RoundNumber round) const;

 private:
  Board& board_;
  board::Roster& roster_;
  agent::AgentHandle agent_;
  board::Stall stall_;
};

static_assert(Runner<AgentRunner>);

}  // namespace syncopate::partial
