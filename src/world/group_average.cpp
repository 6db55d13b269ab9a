#include "syncopate/group_average.h"

#include <cstring>

#include "base/options.h"
#include "group/exchange.h"
#include "group/options.h"
#include "syncopate/error.h"
#include "world/access.h"
#include "world/make_collective.h"
#include "world/world_state.h"

namespace syncopate::detail {

/// The name that the public header knows it by.
class GroupExchange final : public group::Exchange {
  using group::Exchange::Exchange;
};

std::shared_ptr<GroupExchange> make_group(const World& world, std::size_t elements, DataType type,
                                          const void* initial, const GroupOptions& options) {
  const std::shared_ptr<WorldState>& state = WorldAccess::state(world);
  base::check(type);
  group::check(options, world.size(), state->largest_machine());
  base::check_elements(elements);
  if (initial == nullptr && elements > 0) {
    throw Error(ErrorCode::invalid_argument, "the initial weights are null",
                "Give the common initial weights");
  }
  const GroupOptions full = group::complete(options, world.size());
  const auto shape = group::Shape::of(elements, type, state->roster(), full);
  const world::CollectiveSpec spec{.kind = world::CollectiveSpec::Kind::group,
                                   .type = type,
                                   .elements = elements,
                                   .group = full};
  auto region = state->make_region(base::describe(elements, type, full), spec, shape.bytes(),
                                   shape.smallest_bytes());
  std::byte* memory = region->data();
  auto exchange = std::make_shared<GroupExchange>(
      state->roster(), state->platform(), state->timeout(), memory, shape, initial, full,
      std::make_shared<Kept>(state, std::move(region)), state->agent_handle());
  // From here on a group may use any rank's weights: all must have published the initial ones.
  state->barrier();
  return exchange;
}

GroupAverageBase::GroupAverageBase(const World& world, std::size_t elements, DataType type,
                                   const void* initial, const GroupOptions& options)
    : exchange_(make_group(world, elements, type, initial, options)) {}

void* GroupAverageBase::writable_weights() { return exchange_->weights(); }
void GroupAverageBase::start() { exchange_->publish(); }
bool GroupAverageBase::ready() { return exchange_->ready(); }
GroupReceipt GroupAverageBase::wait() { return exchange_->finish(nullptr); }

GroupReceipt GroupAverageBase::average() {
  exchange_->publish();
  return exchange_->finish(nullptr);
}

GroupReceipt GroupAverageBase::average_values(void* values, std::size_t elements) {
  const group::Shape& shape = exchange_->board().shape;
  base::check_buffer("to average", values, elements, shape.elements);
  void* slot = exchange_->weights();
  if (elements > 0) std::memcpy(slot, values, shape.vector_bytes());
  exchange_->publish();
  return exchange_->finish(values);
}

void GroupAverageBase::leave() { exchange_->leave(); }
std::size_t GroupAverageBase::size() const { return exchange_->board().shape.elements; }

}  // namespace syncopate::detail
