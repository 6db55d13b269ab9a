#include "group/agent_runner.h"

namespace syncopate::group {

void AgentRunner::begin_wait(const OwnGroup& group) {
  if (!group.spans) return;
  check();
  board_.participants.set_waiting(group.step);  // The agent starts rounds only for ranks that wait.
  notify();
}

Outlook AgentRunner::advance(const OwnGroup& group, Time now) {
  if (group.spans) return {};
  const Outlook outlook = local_.advance(group, now);
  if (local_.blocked()) notify();  // The one that lags may be elsewhere.
  return outlook;
}

std::string AgentRunner::blame(const OwnGroup& group) const {
  const bool lacks_result = board_.results.buffer_of(group.here()) == kNoBuffer;
  return lacks_result && waits_for_agent(group) ? agent_.awaited(roster_) : local_.blame(group);
}

}  // namespace syncopate::group
