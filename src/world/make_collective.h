// Makes what stands behind a collective's handle: checks its options, agrees on it with all ranks,
// and lays it out on the board. Called by every rank with the same arguments.
#pragma once

#include <cstddef>
#include <memory>

#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/types.h"
#include "syncopate/world.h"

namespace syncopate::detail {

std::shared_ptr<PartialExchange> make_partial(const World& world, std::size_t elements,
                                              DataType type, const PartialOptions& options);
std::shared_ptr<GroupExchange> make_group(const World& world, std::size_t elements, DataType type,
                                          const void* initial, const GroupOptions& options);

}  // namespace syncopate::detail
