#include "collective/make_task.h"

#include "collective/group_exchange.h"
#include "collective/group_task.h"
#include "collective/partial_exchange.h"
#include "collective/partial_task.h"

namespace syncopate::detail {

std::size_t region_bytes(const Order& order, const board::Roster& roster) {
  if (order.kind == Order::Kind::group) {
    return GroupExchange::shape(order.elements, order.type, roster, order.group).bytes();
  }
  return PartialExchange::shape(order.elements, order.type, roster, order.partial).bytes();
}

std::unique_ptr<Agent::Task> make_task(const Order& order, Agent::Means means,
                                       std::shared_ptr<Region> region) {
  const board::Roster& roster = means.roster;
  if (order.kind == Order::Kind::group) {
    const auto shape = GroupExchange::shape(order.elements, order.type, roster, order.group);
    return std::make_unique<GroupTask>(std::move(means), std::move(region), shape, order.group);
  }
  const auto shape = PartialExchange::shape(order.elements, order.type, roster, order.partial);
  const bool bits = order.kind == Order::Kind::carrier;
  return std::make_unique<PartialTask>(std::move(means), std::move(region), shape, order.partial,
                                       bits ? fabric::Combine::bits : fabric::Combine::sum);
}

}  // namespace syncopate::detail
