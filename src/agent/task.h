// What an agent looks after: a task for each collective of its machine, what a task is given, and
// where tasks come from. An agent knows tasks only by these interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "agent/common_clock.h"
#include "agent/mailbox.h"
#include "board/platform.h"
#include "board/roster.h"
#include "fabric/fabric.h"
#include "syncopate/rank_set.h"

namespace syncopate::agent {

/// All its functions are called by one thread at a time.
class AgentTask {
 public:
  using Time = board::Time;

  virtual ~AgentTask() = default;
  /// Does what can be done; returns when to call again if there is no news: at once (`now`) if
  /// something is under way.
  virtual Time work(Time now) = 0;
  virtual void hear(int from, std::span<const std::byte> message) = 0;
  /// Whether a rank, here or elsewhere, may be waiting for what comes next.
  virtual bool urgent() const = 0;
  /// Whether data are on their way, which move only while an agent looks.
  virtual bool moving() const = 0;
  /// Grows as they move.
  virtual std::uint64_t moves() const = 0;
  /// For which ranks, as far as is known.
  virtual RankSet awaited() const = 0;
  virtual bool over() const = 0;
};

struct TaskContext {
  std::unique_ptr<fabric::Channel> channel;
  std::function<void(int machine, std::span<const std::byte> message)> send;
  /// Something else is on its way to a machine where a rank waits for it.
  std::function<void(int machine)> rouse;
  const fabric::Topology& topology;
  board::Roster& roster;  ///< The agent's own view of it.
  AgentMailbox& mailbox;
  board::Platform& platform;
  const CommonClock& clock;
};

/// The tasks that ranks have ordered, in the same order on every machine.
class TaskSource {
 public:
  virtual ~TaskSource() = default;
  /// How many are still to be made.
  virtual std::size_t waiting() const = 0;
  /// Makes the next one.
  virtual std::unique_ptr<AgentTask> make(TaskContext context) = 0;
};

}  // namespace syncopate::agent
