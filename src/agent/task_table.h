// The tasks of an agent: one for each collective of its machine, made in the order in which all
// machines agreed on them. It opens their channels, passes messages to them, also to those that are
// still to be made, and lets them work when it is time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent/polling.h"
#include "agent/task.h"
#include "board/platform.h"
#include "fabric/fabric.h"
#include "syncopate/rank_set.h"

namespace syncopate::agent {

class TaskTable {
 public:
  using Time = board::Time;

  /// `fabric` outlives it.
  TaskTable(fabric::Fabric& fabric, std::unique_ptr<TaskSource> source)
      : fabric_(fabric), source_(std::move(source)) {}
  TaskTable(const TaskTable&) = delete;
  TaskTable& operator=(const TaskTable&) = delete;
  /// What is under way is left for ever: a fabric cannot take back what it has begun.
  ~TaskTable();

  /// Whether a task is to be made; how many there have been.
  bool waiting() const { return source_->waiting() > 0; }
  std::uint64_t made() const { return made_; }
  /// Makes the next task, if it is time and its channel is open. What it is given follows from its
  /// number and its channel.
  using MakeContext =
      std::function<TaskContext(std::uint64_t number, std::unique_ptr<fabric::Channel> channel)>;
  void make_next(const MakeContext& make_context);

  /// A message of machine `from`, of `machines`. Throws BadMessage if there cannot be such a task.
  void deliver(std::uint64_t task, int from, int machines, std::span<const std::byte> message);
  /// Each task works with the next work().
  void hurry();
  struct Worked {
    Time again_at = board::kNever;  ///< When to work again without news.
    PollingPolicy::Work work{};
  };
  /// Lets tasks work, all of them where there is news.
  Worked work(Time now, bool news);
  /// For which of so many ranks tasks wait, where a rank waits for them.
  RankSet awaited(int ranks) const;

  /// Whether the first task, the world's own, has ended: every rank of every machine has left.
  bool world_over() const { return made_ > 0 && !tasks_.contains(1); }
  /// Whether nothing is under way.
  bool idle() const { return tasks_.empty() && !waiting(); }

 private:
  struct ScheduledTask {
    std::unique_ptr<AgentTask> task;
    Time again_at = 0;  ///< When it wants to work without news.
  };

  fabric::Fabric& fabric_;
  std::unique_ptr<TaskSource> source_;
  std::unique_ptr<fabric::Channel> opened_;     ///< For the next task …
  std::unique_ptr<fabric::Operation> opening_;  ///< … while it is being opened.
  std::uint64_t made_ = 0;
  std::map<std::uint64_t, ScheduledTask> tasks_;
  /// Messages for tasks that are still to be made.
  std::map<std::uint64_t, std::vector<std::pair<int, std::vector<std::byte>>>> early_;
};

}  // namespace syncopate::agent
