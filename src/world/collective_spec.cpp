#include "world/collective_spec.h"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "base/options.h"
#include "fabric/packet.h"
#include "group/options.h"
#include "syncopate/error.h"

namespace syncopate::world {
namespace {

using fabric::Packer;
using fabric::Unpacker;

void put(Packer& packer, const Trigger& trigger) {
  packer.put(trigger.kind).put(trigger.count).put(trigger.seed);
}

Trigger take_trigger(Unpacker& unpacker) {
  Trigger trigger;
  trigger.kind = unpacker.take_enumerator(Trigger::Kind::count);
  trigger.count = unpacker.take<int>();
  trigger.seed = unpacker.take<std::uint64_t>();
  return trigger;
}

void put(Packer& packer, const Grace& grace) {
  packer.put(std::int64_t{grace.fixed.count()}).put(grace.share);
}

Grace take_grace(Unpacker& unpacker) {
  Grace grace;
  grace.fixed = Duration(unpacker.take<std::int64_t>());
  grace.share = unpacker.take<double>();
  return grace;
}

int largest_machine(const fabric::Topology& topology) {
  std::vector<int> ranks(topology.machines());
  for (const int machine : topology.machine_of) ++ranks[machine];
  return *std::max_element(ranks.begin(), ranks.end());
}

/// As every rank has checked it when it was given.
void check_order(const CollectiveSpec& spec, const fabric::Topology& topology) {
  base::check_elements(spec.elements);
  if (spec.kind != CollectiveSpec::Kind::group) return base::check(spec.partial, topology.ranks());
  if (spec.group.group_size < 1 || spec.group.window < 1) {
    throw Error(ErrorCode::invalid_argument, "groups without a size or a window", "Complete them");
  }
  group::check(spec.group, topology.ranks(), largest_machine(topology));
}

}  // namespace

board::Attachment CollectiveSpec::pack() const {
  Packer packer;
  packer.put(kind).put(refused).put(type).put(elements);
  put(packer, partial.trigger);
  packer.put(partial.late.younger_than);
  put(packer, partial.grace);
  packer.put(partial.scale).put(partial.window);
  packer.put(group.group_size).put(group.synchronize_every).put(group.rotate);
  put(packer, group.trigger);
  put(packer, group.grace);
  packer.put(group.late).put(group.window).put(group.seed);
  board::Attachment bytes{};
  if (packer.bytes().size() > bytes.size()) throw std::logic_error("an order is too long");
  std::ranges::copy(packer.bytes(), bytes.begin());
  return bytes;
}

CollectiveSpec CollectiveSpec::unpack(const board::Attachment& bytes, int from,
                                      const fabric::Topology& topology) {
  Unpacker unpacker(bytes, from);
  CollectiveSpec spec;
  spec.kind = unpacker.take_enumerator(Kind::group);
  if (spec.kind == Kind::nothing) return {};
  spec.refused = unpacker.take_flag();
  spec.type = unpacker.take_enumerator(DataType::float16);
  spec.elements = unpacker.take<std::uint64_t>();
  spec.partial.trigger = take_trigger(unpacker);
  spec.partial.late.younger_than = unpacker.take<std::uint64_t>();
  spec.partial.grace = take_grace(unpacker);
  spec.partial.scale = unpacker.take_enumerator(Scale::weight);
  spec.partial.window = unpacker.take<int>();
  spec.group.group_size = unpacker.take<int>();
  spec.group.synchronize_every = unpacker.take<int>();
  spec.group.rotate = unpacker.take_flag();
  spec.group.trigger = take_trigger(unpacker);
  spec.group.grace = take_grace(unpacker);
  spec.group.late = unpacker.take_enumerator(LateMerge::keep);
  spec.group.window = unpacker.take<int>();
  spec.group.seed = unpacker.take<std::uint64_t>();
  try {
    check_order(spec, topology);
  } catch (const Error& error) {
    unpacker.refuse("orders what no rank can order: " + error.what_happened());
  }
  return spec;
}

}  // namespace syncopate::world
