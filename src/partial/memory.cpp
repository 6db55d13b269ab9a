#include "partial/memory.h"

#include "base/check.h"
#include "board/layout.h"

namespace syncopate::partial {
namespace {

constexpr std::size_t kLine = 64;

/// Up to here two ranks settle rounds: above, they are faster if each sums up half. (In test builds
/// vectors of more than two elements are not settled, so that these have plain rounds as well.)
constexpr std::size_t kMostToSettle = board::kStepped ? 2 * sizeof(double) : 8 << 10;

board::Chunking chunking_of(const Shape& shape) {
  return board::Chunking::of(shape.elements, shape.type, shape.ranks);
}

}  // namespace

Shape Shape::of(std::size_t elements, DataType type, int ranks, const PartialOptions& options) {
  return {.elements = elements,
          .type = type,
          .ranks = ranks,
          .world_ranks = ranks,
          .window = options.window,
          .scale = options.scale,
          .younger_than = options.late.younger_than,
          .waits_for_all = options.trigger.kind == Trigger::Kind::all};
}

Shape Shape::of(std::size_t elements, DataType type, const board::Roster& roster,
                const PartialOptions& options) {
  Shape shape = of(elements, type, roster.local_size(), options);
  shape.world_ranks = roster.world_size();
  return shape;
}

std::size_t Shape::bytes() const { return Memory::bytes(*this); }

std::size_t Shape::smallest_bytes() const {
  return (ranks + 1 + (stages() > 0 ? 1 : 0)) * vector_bytes();
}

Way Shape::way() const {
  if (world_ranks != ranks) return Way::agents;
  const bool pairs = ranks == 2 && waits_for_all && younger_than == LatePolicy::forever &&
                     vector_bytes() <= kMostToSettle;
  return pairs ? Way::pair : Way::local;
}

double Note::factor(DataType type) const {
  const double counts = weight.load_relaxed();
  if (values.load_relaxed() != Values::merged) return counts;
  return board::headroom_for(type, counts);
}

/// Offsets of the parts.
struct Memory::Plan {
  board::Layout layout;
  std::size_t news, control, words, participations, ranks, relocations;
  std::size_t slots, slot_bytes, values_offset;

  explicit Plan(const Shape& shape)
      : news(layout.add(sizeof(News))),
        control(layout.add(sizeof(Control) + shape.ring() * sizeof(Shared<std::uint64_t>))),
        words(layout.add((shape.ranks + 1) * sizeof(Shared<std::uint64_t>))),
        participations(layout.add(shape.ranks)),
        ranks(layout.add(shape.ranks * sizeof(RankState))),
        relocations(layout.add(shape.values_move() ? (shape.ranks * kSlots + shape.buffers()) *
                                                         sizeof(Shared<std::uint64_t>)
                                                   : 0)) {
    // A small vector shares the line of its note; a larger one starts on a line of its own.
    values_offset = shape.vector_bytes() <= kLine - sizeof(Note) ? sizeof(Note) : kLine;
    board::Layout one;
    one.add(values_offset + shape.vector_bytes());
    slot_bytes = one.size();
    slots = layout.add(slot_bytes * shape.ranks * kSlots);
  }

  /// From the `first` of those that may move.
  board::Relocations relocations_from(std::byte* memory, const Shape& shape, int first) const {
    if (!shape.values_move()) return {};
    return {memory, reinterpret_cast<Shared<std::uint64_t>*>(memory + relocations) + first};
  }
};

Memory::Memory(std::byte* memory, const Shape& shape) : Memory(memory, shape, Plan(shape)) {}

Memory::Memory(std::byte* memory, const Shape& shape, const Plan& plan)
    : news(reinterpret_cast<News*>(memory + plan.news)),
      control(reinterpret_cast<Control*>(memory + plan.control)),
      words(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.words)),
      arrivals(words + shape.ranks),
      participations(reinterpret_cast<Shared<std::uint8_t>*>(memory + plan.participations)),
      ranks(reinterpret_cast<RankState*>(memory + plan.ranks)),
      ring(reinterpret_cast<Shared<std::uint64_t>*>(memory + plan.control + sizeof(Control))),
      memory_(memory),
      slots_(memory + plan.slots),
      slot_bytes_(plan.slot_bytes),
      values_offset_(plan.values_offset),
      slot_relocations_(plan.relocations_from(memory, shape, 0)) {
  SYNCOPATE_CHECK(reinterpret_cast<std::uintptr_t>(memory) % kLine == 0,
                  "memory.h 1: parts begin on lines of their own");
  SYNCOPATE_CHECK(shape.buffers() + shape.own_buffers() < kOwnResults,
                  "memory.h 2: an attempt word can tell every buffer");
}

board::Reduction Memory::make_reduction(const Shape& shape, const board::Roster& roster) const {
  const Plan plan(shape);
  return {memory_,
          plan.layout,
          shape.buffers() + shape.own_buffers(),
          chunking_of(shape),
          shape.type,
          roster,
          plan.relocations_from(memory_, shape, shape.ranks * kSlots)};
}

std::size_t Memory::bytes(const Shape& shape) {
  return board::Reduction::extend(Plan(shape).layout, shape.world_ranks,
                                  shape.buffers() + shape.own_buffers(), chunking_of(shape),
                                  shape.type)
      .size();
}

}  // namespace syncopate::partial
