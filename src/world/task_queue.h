// The tasks that ranks order from their machine's agent, which need not know one collective from
// another: first that of the world itself, then one for each collective on whose making all
// machines have agreed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "agent/task.h"
#include "board/region.h"
#include "board/segment.h"
#include "world/collective_spec.h"

namespace syncopate::world {

class TaskQueue final : public agent::TaskSource {
 public:
  /// For the agent of a machine with so many ranks.
  TaskQueue(std::shared_ptr<board::Segment> segment, int ranks);

  std::size_t waiting() const override { return waiting_.size(); }
  std::unique_ptr<agent::AgentTask> make(agent::TaskContext context) override;

 private:
  struct Placed {
    CollectiveSpec spec;
    std::uint64_t offset = 0;  ///< Of its region.
  };

  /// Every machine takes the same ones in the same order; `agreed`: all ranks want it.
  void take(const CollectiveSpec& spec, const board::Roster& roster, bool agreed);

  std::shared_ptr<board::Segment> segment_;
  board::RegionPlan regions_;
  std::deque<Placed> waiting_;
};

}  // namespace syncopate::world
