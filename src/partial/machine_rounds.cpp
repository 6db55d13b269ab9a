#include "partial/machine_rounds.h"

#include "base/bits.h"
#include "base/check.h"
#include "kernel/kernel.h"

namespace syncopate::partial {

using board::step;
using board::Step;

void MachineRounds::take(RoundNumber round, Share& share) {
  SYNCOPATE_CHECK(board::unstepped([&] { return board_.window.holds(round); }),
                  "machine_rounds.h 2: no round is taken beyond the window");
  Contributions& taken = board_.contributions;
  taken.decide(round);
  board_.memory.control->taken_at.store_relaxed(platform_.now());
  taken.collect(round, /*last=*/false);
  share.header = taken.header();
  share.newest_at = 0;
  if (const int newest = share.header.newest; newest >= 0) {
    share.newest_at = board_.memory.note(newest, taken.slot_of(newest)).arrived.load_relaxed();
  }
  share.contributors.assign(taken.contributors().begin(), taken.contributors().end());
  share.reporters.assign(taken.reporters().begin(), taken.reporters().end());
  share.parting_drops = 0;
  share.parting_reporters.assign(share.reporters.size(), 0);
  for (int rank = 0; rank < board_.shape.ranks; ++rank) {
    const std::uint32_t dropped = board_.memory.ranks[rank].dropped.load_relaxed();
    share.parting_drops += dropped;
    if (dropped > 0) bits::insert(share.parting_reporters, rank);
  }
}

MachineRounds::OnlyShare MachineRounds::only_share(RoundNumber round) {
  Contributions& taken = board_.contributions;
  if (!taken.collect(round, /*last=*/false)) return {};
  if (taken.terms().size() != 1 || taken.terms()[0].weight != 1) return {};
  // Not the first contributor: another may count no times.
  const auto is_the_one = [&](int rank) {
    const int slot = taken.slot_of(rank);
    return slot != kNoSlot && board_.memory.values(rank, slot) == taken.terms()[0].values;
  };
  int rank = 0;
  while (!is_the_one(rank)) ++rank;
  const int slot = taken.slot_of(rank);
  return {.values = board_.memory.values(rank, slot),
          .rank = rank,
          .slot = slot,
          .spare = board_.memory.ranks[rank].reading.load() == 0};
}

void MachineRounds::sum_up(RoundNumber round, double divisor, void* into) {
  board_.contributions.collect(round, /*last=*/false);
  board::weighted_sum(board_.shape.type, board_.shape.elements, board_.contributions.terms(),
                      1 / divisor, into);
}

int MachineRounds::result_buffer() {
  if (result_ == kNoBuffer) {
    board_.window.look_at_all();
    result_ = board_.results.free_buffer(board_.results.published(), kNoBuffer);
  }
  return result_;
}

void MachineRounds::adopt(const OnlyShare& share) {
  SYNCOPATE_CHECK(share.spare, "machine_rounds.h 3: no rank reads what is written over");
  void* const before = result();
  board_.results.buffers().move_values(result_buffer(), share.values);
  board_.memory.move_values(share.rank, share.slot, before);
}

void MachineRounds::publish(RoundNumber round, const Said& said) {
  const int buffer = result_buffer();
  SYNCOPATE_CHECK(board::unstepped([&] {
                    return board_.results.published() + 1 == round &&
                           board_.results.holds_nothing(buffer, board_.results.published());
                  }),
                  "machine_rounds.h 1: the agent publishes one round after the other");
  board_.results.buffers().describe(buffer, said.header, said.contributors, said.reporters);
  step(Step::publish);
  const AttemptWord entry{.round = round, .last = said.header.last, .buffer = buffer};
  board_.memory.ring[round % board_.shape.ring()].store(entry.pack());
  board_.results.advance(round);
  result_ = kNoBuffer;
}

}  // namespace syncopate::partial
