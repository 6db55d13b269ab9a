// Rounds in a world of several machines. A group whose members are on one machine runs its round
// there, as in a world of one (local_runner.h, which lists the functions). The round of a group
// that spans machines is run by their agents (task.h): a rank tells its agent what is new.
#pragma once

#include <string>

#include "agent/handle.h"
#include "group/local_runner.h"

namespace syncopate::group {

class AgentRunner {
 public:
  AgentRunner(Board& board, const Membership& membership, const GroupOptions& options,
              board::Roster& roster, board::Platform& platform, agent::AgentHandle agent)
      : board_(board),
        roster_(roster),
        agent_(agent),
        local_(board, membership, options, roster, platform) {}

  void begin(const OwnGroup& group) {
    local_.begin(group);
    notify();
  }
  void begin_wait(const OwnGroup& group);
  Outlook advance(const OwnGroup& group, Time now);
  Outlook free_slots(const OwnGroup& group, Time now) { return local_.free_slots(group, now); }
  board::Wait::Agent agent(const OwnGroup& group) const {
    return waits_for_agent(group) ? board::Wait::Agent::driven : board::Wait::Agent::left_alone;
  }
  int awaited(const OwnGroup& group) const { return local_.awaited(group); }
  std::string blame(const OwnGroup& group) const;
  RankSet dead() const { return agent_.dead(roster_); }
  void notify() { agent_.call(); }
  void check() const { agent_.check(); }

 private:
  /// The agent runs the round, or hears of the rank that holds it up.
  bool waits_for_agent(const OwnGroup& group) const { return group.spans || local_.blocked(); }

  Board& board_;
  board::Roster& roster_;
  agent::AgentHandle agent_;
  LocalRunner local_;
};

}  // namespace syncopate::group
