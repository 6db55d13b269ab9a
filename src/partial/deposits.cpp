#include "partial/deposits.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "kernel/kernel.h"
#include "partial/pair.h"

namespace syncopate::partial {

using board::step;
using board::Step;
using board::Term;
using board::weighted_sum;

Deposits::Deposits(const Memory& memory, const Shape& shape, const Settled& settled,
                   const Participants& participants, const Results& results)
    : memory_(memory),
      shape_(shape),
      settled_(settled),
      participants_(participants),
      results_(results),
      me_(participants.me()),
      in_turn_(shape.each_sums_up()) {}

DecideWord Deposits::meaning(std::uint64_t value) const {
  const auto said = DecideWord::unpack(value);
  if (said.decided >= settled_.through) return said;
  return {.decided = settled_.through, .taken = said.deposit};
}

bool Deposits::taken_is_free(const DecideWord& word) const {
  if (word.taken == 0 || results_.published() < word.decided) return false;
  return !in_turn_ || Pair::has_seen(participants_, word.decided);
}

int Deposits::free_slot(const DecideWord& word, int avoid) const {
  const bool taken_free = taken_is_free(word);
  const auto usable = [&](int slot) {
    return slot != avoid && slot != word.deposit - 1 && (slot != word.taken - 1 || taken_free);
  };
  // Where the other of a pair looks for it.
  if (in_turn_ && usable(Pair::slot_of(word.decided + 1))) {
    return Pair::slot_of(word.decided + 1);
  }
  // The slot used last is the one in the caches.
  if (taken_free && usable(word.taken - 1)) return word.taken - 1;
  for (int slot = 0; slot < Memory::kSlots; ++slot) {
    if (usable(slot)) return slot;
  }
  return kNoSlot;
}

int Deposits::writable_slot() const {
  const int slot = free_slot(meaning(word().load()), kNoSlot);
  SYNCOPATE_CHECK(slot != kNoSlot, "deposits.h 1: a slot is free");
  return slot;
}

bool Deposits::first_for(RoundNumber round) const {
  const DecideWord now = meaning(word().load());
  return now.deposit == 0 && now.decided + 1 == round;
}

template <typename Read>
bool Deposits::read_while(std::uint64_t value, const Read& read) const {
  // An agent may write over what it has taken, unless it finds this mark afterwards. So the last
  // look at the word comes after the mark.
  Shared<std::uint32_t>& reading = memory_.ranks[me_].reading;
  reading.store(1);
  const bool untaken = word().load() == value;
  if (untaken) read();
  reading.store(keeps_ ? 1 : 0);
  return untaken;
}

void Deposits::keep() {
  keeps_ = true;
  memory_.ranks[me_].reading.store(1);
}

void Deposits::merge(int older, int fresh, int into) {
  SYNCOPATE_CHECK(into != kNoSlot && into != older && into != fresh && older != fresh,
                  "deposits.h 3: what is deposited does not change");
  step(Step::merge);
  const Note& old_note = note(older);
  const Note& new_note = note(fresh);
  Note& merged = note(into);
  std::array<Term, 2> terms;
  std::size_t count = 0;
  for (const int slot : {older, fresh}) {
    const double times = note(slot).factor(shape_.type);
    if (times > 0) terms[count++] = {.values = values(slot), .weight = times};
  }
  merged.weight.store_relaxed(old_note.weight.load_relaxed() + new_note.weight.load_relaxed());
  merged.values.store_relaxed(Note::Values::merged);
  weighted_sum(shape_.type, shape_.elements, {terms.data(), count}, 1 / merged.factor(shape_.type),
               values(into));
  merged.base.store_relaxed(std::min(old_note.base.load_relaxed(), new_note.base.load_relaxed()));
  merged.arrived.store_relaxed(new_note.arrived.load_relaxed());
  merged.dropped.store_relaxed(old_note.dropped.load_relaxed() + new_note.dropped.load_relaxed());
}

bool Deposits::show(int slot, DecideWord now, std::uint64_t& value) {
  step(Step::deposit);
  const DecideWord before = now;
  now.deposit = slot + 1;
  if (!word().replace(value, now.pack())) return false;
  // What is said of the word before is true only now that the swap has found it so.
  SYNCOPATE_CHECK(slot + 1 != before.deposit, "deposits.h 3: what is deposited does not change");
  SYNCOPATE_CHECK(
      slot + 1 != before.taken || board::unstepped([&] { return taken_is_free(before); }),
      "deposits.h 4: a slot that a round reads is not written");
  unreported_ = 0;
  expected_word_ = DecideWord{.decided = now.decided + 1, .taken = now.deposit}.pack();
  return true;
}

void Deposits::describe(int slot, double weight, RoundNumber base, Time now, Form form) {
  Note& fresh = note(slot);
  fresh.weight.store_relaxed(weight);
  fresh.base.store_relaxed(base);
  fresh.arrived.store_relaxed(now);
  fresh.values.store_relaxed(form == Form::sum ? Note::Values::merged : Note::Values::plain);
  fresh.dropped.store_relaxed(unreported_);
}

Deposits::Put Deposits::put(int slot) {
  Note& fresh = note(slot);
  // Our own last change tells what is there, and the swap tells if not: reading the word first
  // would fetch its line twice. A policy that may drop without a swap has to read.
  const bool keeps_all = shape_.younger_than == LatePolicy::forever;
  std::uint64_t value = keeps_all ? expected_word_ : word().load();
  for (;;) {
    const DecideWord now = meaning(value);
    // The next decision about this rank takes whatever lies here: its round is known.
    if (!keeps_all && too_old(fresh.base.load_relaxed(), now.decided + 1)) {
      ++dropped_;
      ++unreported_;
      return Put::dropped;
    }
    fresh.dropped.store_relaxed(unreported_);
    int shown = slot;
    if (const int older = now.deposit - 1; older != kNoSlot) {
      if (note(older).has_values()) {
        shown = free_slot(now, slot);
        if (!read_while(value, [&] { merge(older, slot, shown); })) {
          value = word().load();
          continue;
        }
      } else {
        fresh.dropped.store_relaxed(unreported_ + note(older).dropped.load_relaxed());
      }
    }
    if (show(shown, now, value)) return now.deposit == 0 ? Put::arrived : Put::added;
  }
}

Deposits::Put Deposits::arrive(RoundNumber base, Time now) {
  std::uint64_t value = word().load();
  for (;;) {
    const DecideWord there = meaning(value);
    if (there.deposit != 0) return Put::added;
    const int slot = free_slot(there, kNoSlot);
    SYNCOPATE_CHECK(slot != kNoSlot, "deposits.h 1: a slot is free");
    Note& empty = note(slot);
    empty.base.store_relaxed(base);
    empty.arrived.store_relaxed(now);
    empty.dropped.store_relaxed(unreported_);
    empty.values.store_relaxed(Note::Values::none);
    if (show(slot, there, value)) return Put::arrived;
  }
}

std::optional<double> Deposits::copy_carried(void* into) const {
  const std::uint64_t value = word().load();
  const int slot = meaning(value).deposit - 1;
  if (slot == kNoSlot || !note(slot).has_values()) return std::nullopt;
  const double weight = note(slot).weight.load_relaxed();
  const bool read = read_while(value, [&] {
    const Term term{.values = values(slot), .weight = note(slot).factor(shape_.type)};
    weighted_sum(shape_.type, shape_.elements, {&term, term.weight > 0 ? 1U : 0U}, 1, into);
  });
  if (!read || word().load() != value) return std::nullopt;
  return weight;
}

std::uint64_t Deposits::unreported() const {
  const int slot = meaning(word().load()).deposit - 1;
  return unreported_ + (slot == kNoSlot ? 0 : note(slot).dropped.load_relaxed());
}

}  // namespace syncopate::partial
