#include "group/memory.h"

#include <algorithm>

#include "base/bits.h"
#include "board/layout.h"

namespace syncopate::group {

Shape Shape::of(std::size_t elements, DataType type, int ranks, const GroupOptions& options) {
  return {.elements = elements,
          .type = type,
          .ranks = ranks,
          .world_ranks = ranks,
          .groups = std::max(1, ranks / options.group_size),
          .window = options.window};
}

Shape Shape::of(std::size_t elements, DataType type, const board::Roster& roster,
                const GroupOptions& options) {
  Shape shape = of(elements, type, roster.world_size(), options);
  shape.ranks = roster.local_size();
  return shape;
}

int Shape::buffers() const { return std::min(groups, ranks) * (window + 1) + ranks; }

std::size_t Shape::bytes() const { return Memory::bytes(*this); }

std::size_t Shape::smallest_bytes() const {
  return (2 * ranks + std::min(groups, ranks)) * vector_bytes();
}

/// Offsets of the parts.
struct Memory::Plan {
  board::Layout layout;
  std::size_t news, records, ranks, left, members, reservations, uses, users, slots, slot_bytes;
  board::Chunking chunking;

  explicit Plan(const Shape& shape)
      : news(layout.add(sizeof(News))),
        records(layout.add(sizeof(Record) * shape.depth() * shape.groups)),
        ranks(layout.add(shape.ranks * sizeof(RankState))),
        left(layout.add(shape.ranks)),
        members(layout.add(sizeof(Shared<std::uint64_t>) * shape.depth() * shape.ranks)),
        reservations(layout.add(shape.buffers() * sizeof(Shared<std::uint64_t>))),
        uses(layout.add(shape.buffers() * sizeof(Shared<std::uint64_t>))),
        users(layout.add(shape.buffers() * bits::words_for(shape.ranks) *
                         sizeof(Shared<std::uint64_t>))),
        chunking(
            board::Chunking::of(shape.elements, shape.type, shape.world_ranks / shape.groups)) {
    board::Layout one;
    one.add(shape.vector_bytes());
    slot_bytes = one.size();
    slots = layout.add(slot_bytes * shape.ranks * kSlots);
  }
};

Memory::Memory(std::byte* memory, const Shape& shape) : Memory(memory, shape, Plan(shape)) {}

Memory::Memory(std::byte* memory, const Shape& shape, const Plan& plan)
    : news(reinterpret_cast<News*>(memory + plan.news)),
      ranks(reinterpret_cast<RankState*>(memory + plan.ranks)),
      left(reinterpret_cast<Shared<std::uint8_t>*>(memory + plan.left)),
      reservations(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.reservations)),
      uses(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.uses)),
      records_(reinterpret_cast<Record*>(memory + plan.records)),
      members_(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.members)),
      users_(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.users)),
      slots_(memory + plan.slots),
      slot_bytes_(plan.slot_bytes),
      user_words_(bits::words_for(shape.ranks)),
      depth_(shape.depth()),
      groups_(shape.groups),
      ranks_count_(shape.ranks) {}

board::Reduction Memory::make_reduction(std::byte* memory, const Shape& shape,
                                        const board::Roster& roster) {
  const Plan plan(shape);
  return {memory, plan.layout, shape.buffers(), plan.chunking, shape.type, roster};
}

std::size_t Memory::bytes(const Shape& shape) {
  const Plan plan(shape);
  return board::Reduction::extend(plan.layout, shape.world_ranks, shape.buffers(), plan.chunking,
                                  shape.type)
      .size();
}

}  // namespace syncopate::group
