#include "board/partial_board.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "board/layout.h"
#include "board/prefetch.h"

namespace syncopate::board {
namespace {

constexpr int kNoSlot = -1;
constexpr int kNoBuffer = -1;
constexpr std::size_t kLine = 64;
/// From here on it pays to look up exactly which result was freed last, to reuse its memory.
constexpr std::size_t kWorthReusing = 16 << 10;

}  // namespace

struct PartialBoard::Parts {
  Layout layout;
  std::size_t hot, control, words, standings, lines, ring, slots, slot_bytes, values_offset;
  Chunking chunking;

  explicit Parts(const PartialShape& shape)
      : hot(layout.add(sizeof(Hot))),
        control(layout.add(sizeof(Control) + shape.ring() * sizeof(Shared<std::uint64_t>))),
        words(layout.add((shape.ranks + 1) * sizeof(Shared<std::uint64_t>))),
        standings(layout.add(shape.ranks)),
        lines(layout.add(shape.ranks * sizeof(Line))),
        ring(control + sizeof(Control)),
        chunking(Chunking::of(shape.elements, shape.type, shape.ranks)) {
    const std::size_t bytes = shape.elements * size_of(shape.type);
    // A small vector shares the line of its note; a larger one starts on a line of its own.
    values_offset = bytes <= kLine - sizeof(Note) ? sizeof(Note) : kLine;
    Layout one;
    one.add(values_offset + bytes);
    slot_bytes = one.size();
    slots = layout.add(slot_bytes * shape.ranks * kSlots);
  }
};

std::size_t PartialShape::bytes() const {
  const PartialBoard::Parts parts(*this);
  return Reduction::extend(parts.layout, world_ranks, buffers(), parts.chunking, type).size();
}

std::size_t PartialShape::smallest_bytes() const {
  return (ranks + (across() ? 2 : 1)) * elements * size_of(type);
}

PartialBoard::PartialBoard(std::byte* memory, const PartialShape& shape, Roster& roster, Host& host)
    : PartialBoard(memory, shape, Parts(shape), roster, host) {}

PartialBoard::PartialBoard(std::byte* memory, const PartialShape& shape, const Parts& parts,
                           Roster& roster, Host& host)
    : shape_(shape),
      roster_(roster),
      host_(host),
      hot_(reinterpret_cast<Hot*>(memory + parts.hot)),
      control_(reinterpret_cast<Control*>(memory + parts.control)),
      words_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.words)),
      arrivals_(words_ + shape.ranks),
      standings_(reinterpret_cast<Shared<std::uint8_t>*>(memory + parts.standings)),
      lines_(reinterpret_cast<Line*>(memory + parts.lines)),
      ring_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.ring)),
      slots_(memory + parts.slots),
      slot_bytes_(parts.slot_bytes),
      values_offset_(parts.values_offset),
      reduction_(memory, parts.layout, shape.buffers(), parts.chunking, shape.type, roster),
      known_(shape.ring()),
      contributors_((shape.ranks + 63) / 64),
      reporters_((shape.ranks + 63) / 64) {
  terms_.reserve(shape.ranks);
}

void PartialBoard::begin_after(RoundNumber last) {
  control_->attempt.note(AttemptWord{.round = last}.pack());
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    words_[rank].note(DecideWord{.decided = last}.pack());
    lines_[rank].seen.note(last);
  }
  hot_->event.begin_with(last);
}

std::byte* PartialBoard::slot_head(int rank, int slot) const {
  return slots_ + (std::size_t(rank) * kSlots + slot) * slot_bytes_;
}

int PartialBoard::free_slot(const DecideWord& word, int avoid) const {
  // A taken slot is read until its round is published.
  const bool taken_is_free = word.taken != 0 && published() >= word.decided;
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
  return free_slot(DecideWord::unpack(words_[roster_.rank()].load()), kNoSlot);
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

void PartialBoard::expect_taken(const DecideWord& put) {
  expected_word_ =
      DecideWord{.decided = put.decided + 1, .taken = put.deposit, .deposit = 0}.pack();
}

PartialBoard::Put PartialBoard::deposit(int slot, double weight, RoundNumber base, Time now,
                                        Form form) {
  const int me = roster_.rank();
  Note& fresh = note(me, slot);
  fresh.weight.note(weight);
  fresh.base.note(base);
  fresh.arrived.note(now);
  fresh.values.note(form == Form::sum ? Note::Values::merged : Note::Values::plain);
  // Our own last change tells what is there, and the swap tells if not: reading the word first
  // would fetch its line twice. A policy that may drop without a swap has to read.
  const bool keeps_all = shape_.younger_than == LatePolicy::forever;
  std::uint64_t value = keeps_all ? expected_word_ : words_[me].load();
  for (;;) {
    const auto word = DecideWord::unpack(value);
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
    step(Step::deposit);
    DecideWord desired = word;
    desired.deposit = put + 1;
    if (words_[me].replace(value, desired.pack())) {
      unreported_ = 0;
      expect_taken(desired);
      return word.deposit == 0 ? Put::arrived : Put::added;
    }
  }
}

PartialBoard::Put PartialBoard::arrive(RoundNumber base, Time now) {
  const int me = roster_.rank();
  std::uint64_t value = words_[me].load();
  for (;;) {
    const auto word = DecideWord::unpack(value);
    if (word.deposit != 0) return Put::added;
    const int slot = free_slot(word, kNoSlot);
    Note& empty = note(me, slot);
    empty.base.note(base);
    empty.arrived.note(now);
    empty.dropped.note(unreported_);
    empty.values.note(Note::Values::none);
    step(Step::deposit);
    DecideWord desired = word;
    desired.deposit = slot + 1;
    if (words_[me].replace(value, desired.pack())) {
      unreported_ = 0;
      expect_taken(desired);
      return Put::arrived;
    }
  }
}

std::optional<double> PartialBoard::copy_carried(void* into) const {
  const int me = roster_.rank();
  const std::uint64_t value = words_[me].load();
  const int slot = DecideWord::unpack(value).deposit - 1;
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
  const int slot = DecideWord::unpack(words_[me].load()).deposit - 1;
  return unreported_ + (slot == kNoSlot ? 0 : note(me, slot).dropped.peek());
}

bool PartialBoard::completes_attendance() {
  const std::uint64_t arrivals = arrivals_->increment();
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (!counts(rank)) return true;  // Not every round has had an arrival of each.
  }
  return arrivals % shape_.ranks == 0;
}

AttemptWord PartialBoard::entry_of(RoundNumber round) const {
  AttemptWord& known = known_[round % shape_.ring()];
  if (known.round == round) return known;
  // Whoever waits has the line of the event, and the latest entry with it, at hand.
  auto entry = AttemptWord::unpack(hot_->latest.load());
  if (entry.round != round) entry = AttemptWord::unpack(ring_[round % shape_.ring()].load());
  if (entry.round == round) known = entry;
  return entry;
}

int PartialBoard::buffer_of(RoundNumber round) const {
  const AttemptWord entry = entry_of(round);
  return entry.round == round && round > 0 ? entry.buffer : kNoBuffer;
}

bool PartialBoard::release_through(RoundNumber round) {
  Line& line = lines_[roster_.rank()];
  if (round <= line.seen.peek()) return false;
  step(Step::release);
  line.seen.store(round);
  return unblock();
}

bool PartialBoard::release_through_and_wait(RoundNumber round, RoundNumber next) {
  Line& line = lines_[roster_.rank()];
  const bool releases = round > line.seen.peek();
  if (releases) {
    step(Step::release);
    line.seen.release(round);
  }
  // Processors let nothing that is read after it overtake this store, nor those before it.
  line.waiting.store(next);
  return releases && unblock();
}

bool PartialBoard::unblock() {
  if (hot_->blocked.load() == 0) return false;
  hot_->blocked.store(0);
  signal();
  return true;
}

void PartialBoard::set_standing(Standing standing) {
  lines_[roster_.rank()].dropped.note(unreported_);
  standings_[roster_.rank()].store(static_cast<std::uint8_t>(standing));
  signal();
}

bool PartialBoard::anybody_waits(RoundNumber round) const {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (lines_[rank].waiting.load() == round && roster_.expected(rank)) return true;
  }
  return false;
}

RoundNumber PartialBoard::slowest() {
  RoundNumber minimum = published();
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (standing(rank) == Standing::left || !roster_.expected(rank)) continue;
    minimum = std::min(minimum, lines_[rank].seen.load());
  }
  slowest_ = std::max(slowest_, minimum);
  // Whoever trusts the bound writes over results: it must come after the last look at them.
  control_->slowest.release(slowest_);
  return slowest_;
}

bool PartialBoard::window_allows(RoundNumber round) {
  const auto window = static_cast<RoundNumber>(shape_.window);
  // Reading every rank's line takes long; what another rank has found is good for a while.
  slowest_ = std::max(slowest_, control_->slowest.load());
  return slowest_ + window >= round || slowest() + window >= round;
}

int PartialBoard::free_buffer(RoundNumber published_round, int avoid) {
  std::array<std::uint64_t, kMostBuffers / 64> busy{};
  const auto take = [&](int buffer) { busy[buffer / 64] |= std::uint64_t{1} << (buffer % 64); };
  const bool suspicious = control_->abandoned.load() != 0;
  const auto usable = [&](int buffer) {
    if ((busy[buffer / 64] >> (buffer % 64) & 1) != 0) return false;
    return !suspicious || !reduction_.in_use(buffer);
  };
  if (avoid != kNoBuffer) take(avoid);
  for (int buffer = 0; buffer < shape_.stages(); ++buffer) take(buffer);
  for (RoundNumber round = slowest_ + 1; round <= published_round; ++round) {
    if (const int buffer = buffer_of(round); buffer != kNoBuffer) take(buffer);
  }
  // The one freed last is the one in the caches, and keeps the memory in use small.
  if (const int buffer = buffer_of(slowest_); buffer != kNoBuffer && usable(buffer)) return buffer;
  for (int buffer = 0; buffer < shape_.buffers(); ++buffer) {
    if (usable(buffer)) return buffer;
  }
  return kNoBuffer;
}

int PartialBoard::free_stage(int avoid) const {
  const bool suspicious = control_->abandoned.load() != 0;
  for (int buffer = 0; buffer < shape_.stages(); ++buffer) {
    if (buffer != avoid && !(suspicious && reduction_.in_use(buffer))) return buffer;
  }
  return kNoBuffer;
}

bool PartialBoard::start(RoundNumber round, bool last) {
  step(Step::start);
  std::uint64_t value = control_->attempt.load();
  const auto before = AttemptWord::unpack(value);
  // Nothing comes after the last round, whoever still believes that somebody waits.
  if (before.last || before.round != round - 1 || published() != round - 1) return false;
  prefetch_deposits();
  if (shape_.elements * size_of(shape_.type) >= kWorthReusing) slowest();
  int buffer = free_buffer(round - 1, kNoBuffer);
  if (buffer == kNoBuffer) {
    slowest();
    buffer = free_buffer(round - 1, kNoBuffer);
  }
  if (buffer == kNoBuffer) return false;
  reduction_.prefetch(buffer);
  prefetch_to_write(&ring_[round % shape_.ring()]);
  const AttemptWord next{.round = round, .last = last, .buffer = buffer};
  return control_->attempt.replace(value, next.pack());
}

void PartialBoard::retry(AttemptWord given_up) {
  step(Step::retry);
  control_->abandoned.store(1);
  slowest();
  const int buffer = shape_.across() ? free_stage(given_up.buffer)
                                     : free_buffer(given_up.round - 1, given_up.buffer);
  if (buffer == kNoBuffer) return;
  std::uint64_t value = given_up.pack();
  const AttemptWord next{.round = given_up.round, .last = given_up.last, .buffer = buffer};
  if (control_->attempt.replace(value, next.pack())) signal();
}

void PartialBoard::prefetch_deposits() const {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const Shared<std::uint64_t>& shared = words_[rank];
    const auto word = DecideWord::unpack(shared.peek());
    if (rank % (kLine / sizeof shared) == 0) prefetch_to_write(&shared);
    if (word.deposit == 0) continue;
    prefetch_to_read(slot_head(rank, word.deposit - 1));
    prefetch_to_read(slot_values(rank, word.deposit - 1));
  }
}

bool PartialBoard::decide(RoundNumber round) {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    std::uint64_t value = words_[rank].load();
    for (;;) {
      const auto word = DecideWord::unpack(value);
      if (word.decided > round) return false;
      if (word.decided == round) break;
      step(Step::decide);
      const DecideWord decided{.decided = round, .taken = word.deposit, .deposit = 0};
      if (words_[rank].replace(value, decided.pack())) break;
    }
  }
  return true;
}

bool PartialBoard::collect(AttemptWord attempt, Job& job, ResultHeader& header) {
  terms_.clear();
  std::fill(contributors_.begin(), contributors_.end(), 0);
  std::fill(reporters_.begin(), reporters_.end(), 0);
  header = {.round = attempt.round, .last = attempt.last};
  Time newest = 0;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const auto word = DecideWord::unpack(words_[rank].load());
    if (word.decided != attempt.round) return false;
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    const auto report = [&](std::uint64_t dropped) {
      header.dropped += dropped;
      if (dropped > 0) reporters_[rank / 64] |= bit;
    };
    // When the last round runs every rank has said its last word.
    if (attempt.last) report(lines_[rank].dropped.peek());
    if (word.taken == 0) continue;
    const Note& deposit = note(rank, word.taken - 1);
    report(deposit.dropped.peek());
    if (deposit.arrived.peek() >= newest) {
      newest = deposit.arrived.peek();
      header.newest = static_cast<std::int16_t>(rank);
    }
    if (!deposit.has_values()) continue;
    contributors_[rank / 64] |= bit;
    header.weight += deposit.weight.peek();
    header.staleness = std::max(header.staleness, attempt.round - 1 - deposit.base.peek());
    terms_.push_back({.values = slot_values(rank, word.taken - 1), .weight = factor(deposit)});
  }
  double divisor = 1;
  if (shape_.scale == Scale::ranks) divisor = shape_.ranks;
  if (shape_.scale == Scale::contributors) divisor = static_cast<double>(terms_.size());
  if (shape_.scale == Scale::weight) divisor = header.weight;
  if (shape_.across()) divisor = control_->divisor.load();
  job = {.tag = attempt.round,
         .buffer = attempt.buffer,
         .attempt = &control_->attempt,
         .attempt_value = attempt.pack(),
         .terms = terms_,
         .scale = divisor > 0 ? 1 / divisor : 1,
         .header = &header,
         .contributors = contributors_,
         .reporters = reporters_};
  return true;
}

Reduction::Outcome PartialBoard::help() {
  const AttemptWord now = attempt();
  if (now.round <= published()) return Reduction::Outcome::over;
  if (buffer_of(now.round) != kNoBuffer) {
    advance(now.round);
    return Reduction::Outcome::complete;
  }
  Job job;
  ResultHeader header;
  if (!decide(now.round) || !collect(now, job, header)) return Reduction::Outcome::over;
  const Reduction::Outcome outcome = reduction_.help(job);
  if (outcome == Reduction::Outcome::complete && !shape_.across()) publish(now);
  return outcome;
}

void PartialBoard::publish(AttemptWord attempt) {
  step(Step::publish);
  Shared<std::uint64_t>& entry = ring_[attempt.round % shape_.ring()];
  std::uint64_t value = entry.load();
  // If this fails, another attempt at the same round was published first.
  if (AttemptWord::unpack(value).round < attempt.round) entry.replace(value, attempt.pack());
  advance(attempt.round);
}

void PartialBoard::advance(RoundNumber round) {
  step(Step::advance);
  // A hint: whoever comes late with an old one only sends readers to the ring.
  hot_->latest.release(ring_[round % shape_.ring()].load());
  hot_->event.announce(host_, round);
}

}  // namespace syncopate::board
