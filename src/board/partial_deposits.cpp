// The owner's side of a partial board: where a rank writes, and how what it wrote gets onto the
// board, alone or added to what is there.
#include <algorithm>
#include <array>
#include <cmath>

#include "board/partial_board.h"
#include "board/prefetch.h"

namespace syncopate::board {

int PartialBoard::free_slot(const DecideWord& word, int avoid) const {
  // A taken slot is read until its round is published, and where the other may settle it, until
  // that has happened.
  const bool taken_is_free = word.taken != 0 && published() >= word.decided &&
                             (!shape_.settles() || other_has_seen(word.decided));
  if (shape_.settles()) {
    const int firm = firm_slot(word.decided + 1);
    if (firm != avoid && firm != word.deposit - 1 && (firm != word.taken - 1 || taken_is_free)) {
      return firm;
    }
  }
  // The slot used last is the one in the caches.
  if (taken_is_free && word.taken - 1 != avoid && word.taken != word.deposit) return word.taken - 1;
  for (int slot = 0; slot < kSlots; ++slot) {
    if (slot == avoid || slot == word.deposit - 1) continue;
    if (slot == word.taken - 1 && !taken_is_free) continue;
    return slot;
  }
  return kNoSlot;
}

void PartialBoard::fetch_ahead() const {
  prefetch_to_write(&words_[roster_.rank()]);
  for (const Term& term : terms_) {
    const auto* values = static_cast<const std::byte*>(term.values);
    prefetch_to_read(values - values_offset_);
    prefetch_to_read(values);
  }
}

int PartialBoard::writable_slot() const {
  return free_slot(own_word(words_[roster_.rank()].load()), kNoSlot);
}

DecideWord PartialBoard::own_word(std::uint64_t value) const {
  const auto word = DecideWord::unpack(value);
  if (word.decided >= settled_) return word;
  return {.decided = settled_, .taken = word.deposit};
}

bool PartialBoard::too_old(RoundNumber base, RoundNumber taken_in) const {
  return taken_in - 1 - base >= shape_.younger_than;
}

double PartialBoard::factor(const Note& note) const {
  const double weight = note.weight.peek();
  if (note.values.peek() != Note::Values::merged) return weight;
  // Sixteen bits may not hold a weighted sum; divided by a power of two they do, with no loss.
  const bool narrow = size_of(shape_.type) == sizeof(bfloat16);
  return narrow && weight > 1 ? std::exp2(std::ceil(std::log2(weight))) : 1;
}

template <typename Read>
bool PartialBoard::read_deposits(std::uint64_t value, const Read& read) const {
  const int me = roster_.rank();
  // An agent may write over what it has taken, unless it finds this mark afterwards. So the last
  // look at the word comes after the mark.
  lines_[me].reading.store(1);
  const bool untaken = words_[me].load() == value;
  if (untaken) read();
  lines_[me].reading.store(keeps_deposits_ ? 1 : 0);
  return untaken;
}

void PartialBoard::keep_deposits() {
  keeps_deposits_ = true;
  lines_[roster_.rank()].reading.store(1);
}

void PartialBoard::merge(int older, int fresh, int into) {
  step(Step::merge);
  const int me = roster_.rank();
  const Note& old_note = note(me, older);
  const Note& new_note = note(me, fresh);
  Note& merged = note(me, into);
  const std::array<Term, 2> terms = {
      Term{.values = slot_values(me, older), .weight = factor(old_note)},
      Term{.values = slot_values(me, fresh), .weight = factor(new_note)},
  };
  const double weight = old_note.weight.peek() + new_note.weight.peek();
  merged.weight.note(weight);
  merged.values.note(Note::Values::merged);
  weighted_sum(shape_.type, shape_.elements, terms, 1 / factor(merged), slot_values(me, into));
  merged.base.note(std::min(old_note.base.peek(), new_note.base.peek()));
  merged.arrived.note(new_note.arrived.peek());
  merged.dropped.note(old_note.dropped.peek() + new_note.dropped.peek());
}

bool PartialBoard::show(int slot, DecideWord word, std::uint64_t& value) {
  step(Step::deposit);
  word.deposit = slot + 1;
  if (!words_[roster_.rank()].replace(value, word.pack())) return false;
  unreported_ = 0;
  expected_word_ = DecideWord{.decided = word.decided + 1, .taken = word.deposit}.pack();
  return true;
}

PartialBoard::Put PartialBoard::deposit(int slot, double weight, RoundNumber base, Time now,
                                        Form form, bool firm) {
  just_settled_ = false;
  const int me = roster_.rank();
  Note& fresh = note(me, slot);
  fresh.weight.note(weight);
  fresh.base.note(base);
  fresh.arrived.note(now);
  fresh.values.note(form == Form::sum ? Note::Values::merged : Note::Values::plain);
  if (firm) {
    fresh.dropped.note(unreported_);
    step(Step::deposit);
    // Before the swap: it orders this store and our look at the other's, so that of two who come at
    // once one sees both; and whoever sees the deposit in the word sees that it is firm.
    fresh.firm.release(base + 1);
  }
  // Our own last change tells what is there, and the swap tells if not: reading the word first
  // would fetch its line twice. A policy that may drop without a swap has to read.
  const bool keeps_all = shape_.younger_than == LatePolicy::forever;
  std::uint64_t value = keeps_all ? expected_word_ : words_[me].load();
  for (;;) {
    const DecideWord word = own_word(value);
    // The next decision about this rank takes whatever lies here: its round is known.
    if (!keeps_all && too_old(base, word.decided + 1)) {
      ++dropped_;
      ++unreported_;
      return Put::dropped;
    }
    fresh.dropped.note(unreported_);
    int put = slot;
    if (const int older = word.deposit - 1; older != kNoSlot) {
      // What lies here stays here until the sum can take its place, so that a rank that dies
      // in between takes nothing with it.
      if (note(me, older).has_values()) {
        put = free_slot(word, slot);
        if (!read_deposits(value, [&] { merge(older, slot, put); })) {
          value = words_[me].load();
          continue;
        }
      } else {
        fresh.dropped.note(unreported_ + note(me, older).dropped.peek());
      }
    }
    if (show(put, word, value)) return word.deposit == 0 ? Put::arrived : Put::added;
  }
}

PartialBoard::Put PartialBoard::arrive(RoundNumber base, Time now) {
  just_settled_ = false;
  const int me = roster_.rank();
  std::uint64_t value = words_[me].load();
  for (;;) {
    const DecideWord word = own_word(value);
    if (word.deposit != 0) return Put::added;
    const int slot = free_slot(word, kNoSlot);
    Note& empty = note(me, slot);
    empty.base.note(base);
    empty.arrived.note(now);
    empty.dropped.note(unreported_);
    empty.values.note(Note::Values::none);
    if (show(slot, word, value)) return Put::arrived;
  }
}

std::optional<double> PartialBoard::copy_carried(void* into) const {
  const int me = roster_.rank();
  const std::uint64_t value = words_[me].load();
  const int slot = own_word(value).deposit - 1;
  if (slot == kNoSlot || !note(me, slot).has_values()) return std::nullopt;
  const double weight = note(me, slot).weight.peek();
  const bool read = read_deposits(value, [&] {
    const Term term{.values = slot_values(me, slot), .weight = factor(note(me, slot))};
    weighted_sum(shape_.type, shape_.elements, {&term, 1}, 1, into);
  });
  if (!read || words_[me].load() != value) return std::nullopt;
  return weight;
}

std::uint64_t PartialBoard::unreported() const {
  const int me = roster_.rank();
  const int slot = own_word(words_[me].load()).deposit - 1;
  return unreported_ + (slot == kNoSlot ? 0 : note(me, slot).dropped.peek());
}

}  // namespace syncopate::board
