#include "board/partial_board.h"

#include <algorithm>
#include <array>

#include "board/layout.h"
#include "board/prefetch.h"

namespace syncopate::board {
namespace {

constexpr std::size_t kLine = 64;
/// From here on it pays to look up exactly which result was freed last, to reuse its memory.
constexpr std::size_t kWorthReusing = 16 << 10;

/// From the `first` of those that begin at `offset`.
Places places_at(std::byte* memory, std::size_t offset, const PartialShape& shape, int first) {
  if (!shape.across()) return {};
  return {memory, reinterpret_cast<Shared<std::uint64_t>*>(memory + offset) + first};
}

}  // namespace

struct PartialBoard::Parts {
  Layout layout;
  std::size_t hot, control, words, standings, lines, ring, places;
  std::size_t slots, slot_bytes, values_offset;
  Chunking chunking;

  explicit Parts(const PartialShape& shape)
      : hot(layout.add(sizeof(Hot))),
        control(layout.add(sizeof(Control) + shape.ring() * sizeof(Shared<std::uint64_t>))),
        words(layout.add((shape.ranks + 1) * sizeof(Shared<std::uint64_t>))),
        standings(layout.add(shape.ranks)),
        lines(layout.add(shape.ranks * sizeof(Line))),
        ring(control + sizeof(Control)),
        places(layout.add(shape.across() ? (shape.ranks * kSlots + shape.buffers()) *
                                               sizeof(Shared<std::uint64_t>)
                                         : 0)),
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
  return Reduction::extend(parts.layout, world_ranks, buffers() + (settles() ? ranks : 0),
                           parts.chunking, type)
      .size();
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
      places_(places_at(memory, parts.places, shape, 0)),
      reduction_(memory, parts.layout, shape.buffers() + (shape.settles() ? shape.ranks : 0),
                 parts.chunking, shape.type, roster,
                 places_at(memory, parts.places, shape, shape.ranks * kSlots)),
      known_(shape.ring()),
      gathered_(shape.ranks),
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

int PartialBoard::published_buffer(RoundNumber round) const {
  const AttemptWord entry = entry_of(round);
  return entry.round == round && round > 0 && entry.buffer != kSettled ? entry.buffer : kNoBuffer;
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
  RoundNumber minimum = std::max(published(), settled_);
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
    if (const int buffer = published_buffer(round); buffer != kNoBuffer) take(buffer);
  }
  // The one freed last is the one in the caches, and keeps the memory in use small.
  if (const int buffer = published_buffer(slowest_); buffer != kNoBuffer && usable(buffer)) {
    return buffer;
  }
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

void PartialBoard::gather(RoundNumber round, bool last, ResultHeader& header) {
  terms_.clear();
  std::fill(contributors_.begin(), contributors_.end(), 0);
  std::fill(reporters_.begin(), reporters_.end(), 0);
  header = {.round = round, .last = last};
  Time newest = 0;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const int slot = gathered_[rank];
    const std::uint64_t bit = std::uint64_t{1} << (rank % 64);
    const auto report = [&](std::uint64_t dropped) {
      header.dropped += dropped;
      if (dropped > 0) reporters_[rank / 64] |= bit;
    };
    // When the last round runs every rank has said its last word.
    if (last) report(lines_[rank].dropped.peek());
    if (slot == kNoSlot) continue;
    const Note& deposit = note(rank, slot);
    report(deposit.dropped.peek());
    if (deposit.arrived.peek() >= newest) {
      newest = deposit.arrived.peek();
      header.newest = static_cast<std::int16_t>(rank);
    }
    if (!deposit.has_values()) continue;
    contributors_[rank / 64] |= bit;
    header.weight += deposit.weight.peek();
    header.staleness = std::max(header.staleness, round - 1 - deposit.base.peek());
    terms_.push_back({.values = slot_values(rank, slot), .weight = factor(deposit)});
  }
}

double PartialBoard::scale(const ResultHeader& header) const {
  double divisor = 1;
  if (shape_.scale == Scale::ranks) divisor = shape_.ranks;
  if (shape_.scale == Scale::contributors) divisor = static_cast<double>(terms_.size());
  if (shape_.scale == Scale::weight) divisor = header.weight;
  if (shape_.across()) divisor = control_->divisor.load();
  return divisor > 0 ? 1 / divisor : 1;
}

bool PartialBoard::collect(AttemptWord attempt, Job& job, ResultHeader& header) {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const auto word = DecideWord::unpack(words_[rank].load());
    if (word.decided != attempt.round) return false;
    gathered_[rank] = word.taken - 1;
  }
  gather(attempt.round, attempt.last, header);
  job = {.tag = attempt.round,
         .buffer = attempt.buffer,
         .attempt = &control_->attempt,
         .attempt_value = attempt.pack(),
         .terms = terms_,
         .scale = scale(header),
         .header = &header,
         .contributors = contributors_,
         .reporters = reporters_,
         .front_first = shape_.across()};
  return true;
}

Reduction::Outcome PartialBoard::help() {
  const AttemptWord now = attempt();
  if (now.round <= published()) return Reduction::Outcome::over;
  if (AttemptWord::unpack(ring_[now.round % shape_.ring()].load()).round == now.round) {
    advance(now.round);
    return Reduction::Outcome::complete;
  }
  const bool decided = decide(now.round);
  if (now.buffer == kSettled) {
    publish(now);  // Even if the ranks have settled further rounds since, and decided on them.
    return Reduction::Outcome::complete;
  }
  Job job;
  ResultHeader header;
  if (!decided || !collect(now, job, header)) return Reduction::Outcome::over;
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
