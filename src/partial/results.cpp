#include "partial/results.h"

#include <array>

#include "base/bits.h"
#include "base/check.h"

namespace syncopate::partial {

using board::step;
using board::Step;

Results::Results(const Memory& memory, const Shape& shape, const Settled& settled,
                 const Participants& participants, const Window& window,
                 const board::Roster& roster, board::Platform& platform)
    : memory_(memory),
      shape_(shape),
      settled_(settled),
      participants_(participants),
      window_(window),
      platform_(platform),
      buffers_(memory.make_reduction(shape, roster)),
      known_(shape.ring()) {}

AttemptWord Results::entry_of(RoundNumber round) const {
  AttemptWord& known = known_[round % shape_.ring()];
  if (known.round == round) return known;
  // A rank that waits has the line of the event, and the latest entry with it, at hand.
  auto entry = AttemptWord::unpack(memory_.news->latest.load());
  if (entry.round != round) {
    entry = AttemptWord::unpack(memory_.ring[round % shape_.ring()].load());
  }
  if (entry.round == round) known = entry;
  return entry;
}

int Results::published_buffer(RoundNumber round) const {
  const AttemptWord entry = entry_of(round);
  return entry.round == round && round > 0 && entry.buffer != kOwnResults ? entry.buffer
                                                                          : kNoBuffer;
}

bool Results::holds_nothing(int buffer, RoundNumber last) const {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (!participants_.follows(rank)) continue;
    for (RoundNumber round = participants_.seen(rank) + 1; round <= last; ++round) {
      const auto entry = AttemptWord::unpack(memory_.ring[round % shape_.ring()].load());
      if (entry.round == round && entry.buffer == buffer) return false;
    }
  }
  return true;
}

int Results::free_buffer(RoundNumber published, int avoid) const {
  std::array<std::uint64_t, bits::words_for(board::kMostBuffers)> busy{};
  const auto take = [&](int buffer) { bits::insert(busy, buffer); };
  const bool suspicious = memory_.control->abandoned.load() != 0;
  const auto usable = [&](int buffer) {
    if (bits::contains(busy, buffer)) return false;
    return !suspicious || !buffers_.in_use(buffer);
  };
  if (avoid != kNoBuffer) take(avoid);
  for (int buffer = 0; buffer < shape_.stages(); ++buffer) take(buffer);
  const RoundNumber seen = window_.seen_by_all();
  for (RoundNumber round = seen + 1; round <= published; ++round) {
    if (const int buffer = published_buffer(round); buffer != kNoBuffer) take(buffer);
  }
  // The one freed last is the one in the caches, and keeps the memory in use small.
  if (const int buffer = published_buffer(seen); buffer != kNoBuffer && usable(buffer)) {
    return buffer;
  }
  for (int buffer = 0; buffer < shape_.buffers(); ++buffer) {
    if (usable(buffer)) return buffer;
  }
  return kNoBuffer;
}

void Results::publish(AttemptWord attempt) {
  step(Step::publish);
  Shared<std::uint64_t>& entry = memory_.ring[attempt.round % shape_.ring()];
  std::uint64_t value = entry.load();
  const RoundNumber before = AttemptWord::unpack(value).round;
  // If this fails, another attempt at the same round was published first.
  if (before < attempt.round && entry.replace(value, attempt.pack())) {
    SYNCOPATE_CHECK(before == 0 || before + shape_.window < attempt.round,
                    "results.h 4: no entry goes that a rank may yet read");
  }
  advance(attempt.round);
}

void Results::advance(RoundNumber round) {
  step(Step::advance);
  // A hint: a rank that comes late with an old one only sends readers to the ring.
  const std::uint64_t entry = memory_.ring[round % shape_.ring()].load();
  SYNCOPATE_CHECK(AttemptWord::unpack(entry).round >= round, "results.h 2: the ring comes first");
  SYNCOPATE_CHECK(
      board::unstepped([&] { return published() + 1 >= round; }) || shape_.each_sums_up(),
      "results.h 2: published rounds grow by one");
  memory_.news->latest.store_release(entry);
  memory_.news->event.announce(platform_, round);
}

}  // namespace syncopate::partial
