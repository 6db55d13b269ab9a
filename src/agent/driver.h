// What drives the agent of a machine in the process of its first rank: calls Agent::turn() when it
// is time. The real one is AgentThread (thread.h); tests and simulators have others, without
// threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "agent/control_memory.h"
#include "agent/task.h"
#include "board/event.h"
#include "fabric/fabric.h"
#include "syncopate/policy.h"

namespace syncopate::agent {

class AgentDriver {
 public:
  virtual ~AgentDriver() = default;

  /// On the thread of the agent's rank, which waits for news after `seen`, for `until` at most: may
  /// do the agent's work meanwhile. The rank has not called the agent for what it did last.
  virtual void drive(const board::Event& event, std::uint64_t seen, board::Time until) = 0;
  /// Returns when the agent is over. From then on the fabric is not used.
  virtual void finish() = 0;
  virtual void set_timeout(Duration timeout) = 0;
};

/// What an agent is made of.
struct AgentParts {
  std::unique_ptr<fabric::Fabric> fabric;
  fabric::Topology topology;
  ControlMemory memory;
  std::unique_ptr<TaskSource> source;
  Duration timeout;
};
using MakeAgentDriver = std::function<std::unique_ptr<AgentDriver>(AgentParts)>;

}  // namespace syncopate::agent
