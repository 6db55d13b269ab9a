#include "world/task_queue.h"

#include <utility>

#include "agent/control_memory.h"
#include "group/shape.h"
#include "group/task.h"
#include "partial/shape.h"
#include "partial/task.h"
#include "world/task.h"

namespace syncopate::world {
namespace {

using Kind = CollectiveSpec::Kind;

/// The memory that a collective takes on the board of its machine.
std::size_t region_bytes(const CollectiveSpec& spec, const board::Roster& roster) {
  if (spec.kind == Kind::group) {
    return group::Shape::of(spec.elements, spec.type, roster, spec.group).bytes();
  }
  return partial::Shape::of(spec.elements, spec.type, roster, spec.partial).bytes();
}

std::unique_ptr<agent::AgentTask> make_task(const CollectiveSpec& spec, agent::TaskContext context,
                                            std::shared_ptr<board::Region> region) {
  const board::Roster& roster = context.roster;
  if (spec.kind == Kind::group) {
    const auto shape = group::Shape::of(spec.elements, spec.type, roster, spec.group);
    return std::make_unique<group::Task>(std::move(context), std::move(region), shape, spec.group);
  }
  const auto shape = partial::Shape::of(spec.elements, spec.type, roster, spec.partial);
  const bool bits = spec.kind == Kind::carrier;
  return std::make_unique<detail::PartialTask>(std::move(context), std::move(region), shape,
                                               spec.partial,
                                               bits ? fabric::Combine::bits : fabric::Combine::sum);
}

}  // namespace

TaskQueue::TaskQueue(std::shared_ptr<board::Segment> segment, int ranks)
    : segment_(std::move(segment)),
      regions_(agent::ControlMemory::bytes(), ranks),
      waiting_{{.spec = {.kind = Kind::world}}} {}

std::unique_ptr<agent::AgentTask> TaskQueue::make(agent::TaskContext context) {
  const Placed next = waiting_.front();
  waiting_.pop_front();
  const board::Roster& roster = context.roster;
  if (next.spec.kind == Kind::world) {
    return std::make_unique<WorldTask>(
        std::move(context),
        [this, &roster](const CollectiveSpec& spec, bool agreed) { take(spec, roster, agreed); });
  }
  auto region = std::make_shared<board::Region>(segment_, roster, board::Region::agent_of(roster),
                                                next.offset, region_bytes(next.spec, roster));
  return make_task(next.spec, std::move(context), std::move(region));
}

void TaskQueue::take(const CollectiveSpec& spec, const board::Roster& roster, bool agreed) {
  if (spec.kind == Kind::nothing) return;
  // Ranks that have no room for a region count it too.
  const std::uint64_t offset = regions_.next(region_bytes(spec, roster));
  if (agreed && !spec.refused) waiting_.push_back({spec, offset});
}

}  // namespace syncopate::world
