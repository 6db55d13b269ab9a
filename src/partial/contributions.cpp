#include "partial/contributions.h"

#include <algorithm>

#include "base/bits.h"
#include "base/check.h"
#include "board/prefetch.h"

namespace syncopate::partial {

using board::prefetch_to_read;
using board::prefetch_to_write;
using board::step;
using board::Step;

Contributions::Contributions(const Memory& memory, const Shape& shape)
    : memory_(memory),
      shape_(shape),
      taken_(shape.ranks, kNoSlot),
      contributors_(bits::words_for(shape.ranks)),
      reporters_(bits::words_for(shape.ranks)) {
  terms_.reserve(shape.ranks);
}

bool Contributions::decide(RoundNumber round) {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    Shared<std::uint64_t>& shared = memory_.words[rank];
    std::uint64_t value = shared.load();
    for (;;) {
      const auto word = DecideWord::unpack(value);
      if (word.decided > round) return false;
      if (word.decided == round) break;
      SYNCOPATE_CHECK(word.decided + 1 == round || shape_.each_sums_up(),
                      "contributions.h 1: a round decides after the one before");
      step(Step::decide);
      const DecideWord decided{.decided = round, .taken = word.deposit, .deposit = 0};
      if (shared.replace(value, decided.pack())) break;
    }
  }
  return true;
}

bool Contributions::collect(RoundNumber round, bool last) {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const auto word = DecideWord::unpack(memory_.words[rank].load());
    SYNCOPATE_CHECK(word.decided >= round,
                    "contributions.h 2: every word says this round or later");
    if (word.decided != round) return false;
    taken_[rank] = word.taken - 1;
  }
  list(round, last);
  return true;
}

void Contributions::collect_from(int slot, RoundNumber round) {
  std::fill(taken_.begin(), taken_.end(), slot);
  list(round, /*last=*/false);
}

void Contributions::list(RoundNumber round, bool last) {
  terms_.clear();
  count_ = 0;
  header_ = {.round = round, .last = last};
  Time newest = 0;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (rank % bits::kPerWord == 0) {
      contributors_[bits::word_of(rank)] = reporters_[bits::word_of(rank)] = 0;
    }
    const int slot = taken_[rank];
    const auto report = [&](std::uint64_t dropped) {
      header_.dropped += dropped;
      if (dropped > 0) bits::insert(reporters_, rank);
    };
    // When the last round runs every rank has said its last word.
    if (last) report(memory_.ranks[rank].dropped.load_relaxed());
    if (slot == kNoSlot) continue;
    const Note& deposit = memory_.note(rank, slot);
    report(deposit.dropped.load_relaxed());
    if (deposit.arrived.load_relaxed() >= newest) {
      newest = deposit.arrived.load_relaxed();
      header_.newest = static_cast<std::int16_t>(rank);
    }
    if (!deposit.has_values()) continue;
    bits::insert(contributors_, rank);
    ++count_;
    header_.weight += deposit.weight.load_relaxed();
    header_.staleness = std::max(header_.staleness, round - 1 - deposit.base.load_relaxed());
    // What counts no times adds nothing, be it infinite or no number at all.
    const double times = deposit.factor(shape_.type);
    if (times > 0) terms_.push_back({.values = memory_.values(rank, slot), .weight = times});
  }
}

void Contributions::prefetch() const {
  constexpr std::size_t kWordsPerLine = 64 / sizeof(Shared<std::uint64_t>);
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const Shared<std::uint64_t>& shared = memory_.words[rank];
    const auto word = DecideWord::unpack(shared.load_relaxed());
    if (rank % kWordsPerLine == 0) prefetch_to_write(&shared);
    if (word.deposit == 0) continue;
    prefetch_to_read(memory_.head(rank, word.deposit - 1));
    prefetch_to_read(memory_.values(rank, word.deposit - 1));
  }
}

void Contributions::prefetch_again(int rank) const {
  prefetch_to_write(&memory_.words[rank]);
  for (const board::Term& term : terms_) {
    prefetch_to_read(memory_.head_of(term.values));
    prefetch_to_read(term.values);
  }
}

}  // namespace syncopate::partial
