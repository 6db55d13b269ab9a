#include "partial/agent_runner.h"

#include "partial/blame.h"

namespace syncopate::partial {

Time AgentRunner::advance(RoundNumber next, Time now) {
  const RoundNumber published = board_.results.published();
  if (published >= next) return now;
  const AttemptWord attempt = board_.stage.attempt();
  if (attempt.round <= published) return board::kNever;
  if (board_.stage.help() == Stage::Outcome::pending) {
    return stall_.overcome(attempt, now, board_.event(), [&] { board_.stage.retry(attempt); });
  }
  agent_.call();  // The rest is the agent's business.
  return board::kNever;
}

void AgentRunner::poll(RoundNumber next, Time now) {
  agent_.check();
  board_.participants.set_waiting(next);  // The agent starts rounds only for ranks that wait.
  agent_.call();
  advance(next, now);
}

std::string AgentRunner::blame(RoundNumber round) const {
  const std::string holders = chunk_holders(board_, roster_, round);
  if (!holders.empty()) return holders + " to finish its part of the sum";
  return agent_.awaited(roster_) + " to arrive";
}

}  // namespace syncopate::partial
