// Makes the tasks that ranks order from their machine's agent, which need not know one collective
// from another.
#pragma once

#include <cstddef>
#include <memory>

#include "collective/agent.h"
#include "collective/order.h"
#include "collective/region.h"

namespace syncopate::detail {

/// The memory that a collective takes on the board of its machine.
std::size_t region_bytes(const Order& order, const board::Roster& roster);
/// For one that lies in `region`.
std::unique_ptr<Agent::Task> make_task(const Order& order, Agent::Means means,
                                       std::shared_ptr<Region> region);

}  // namespace syncopate::detail
