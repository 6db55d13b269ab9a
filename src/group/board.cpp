#include "group/board.h"

#include <algorithm>
#include <array>
#include <limits>

#include "board/layout.h"

namespace syncopate::board {
namespace {

using Phase = MemberWord::Phase;

constexpr int kNone = -1;

std::size_t words_for(int ranks) { return (ranks + 63) / 64; }

/// A rank's newest publication. (A slot has two bits, as in MemberWord.)
struct Publication {
  RoundNumber step = 0;
  int slot = 0;

  static Publication unpack(std::uint64_t word) {
    return {.step = word >> 2, .slot = int(word & 3)};
  }
  std::uint64_t pack() const { return step << 2 | std::uint64_t(slot); }
};

/// For whom a result buffer was taken last.
struct Reservation {
  /// In the hands of an agent, whoever lives and whatever they have seen.
  static constexpr RoundNumber kHeld = (RoundNumber{1} << 54) - 1;

  RoundNumber step = 0;
  int rank = 0;

  static Reservation unpack(std::uint64_t word) {
    return {.step = word >> 10, .rank = int(word & 1023)};
  }
  std::uint64_t pack() const { return step << 10 | std::uint64_t(rank); }
};

}  // namespace

struct GroupBoard::Parts {
  Layout layout;
  std::size_t hot, records, ranks, left, members, reservations, uses, users, slots, slot_bytes;
  Chunking chunking;

  explicit Parts(const GroupShape& shape)
      : hot(layout.add(sizeof(Hot))),
        records(layout.add(sizeof(Record) * shape.depth() * shape.groups)),
        ranks(layout.add(shape.ranks * sizeof(RankState))),
        left(layout.add(shape.ranks)),
        members(layout.add(sizeof(Shared<std::uint64_t>) * shape.depth() * shape.ranks)),
        reservations(layout.add(shape.buffers() * sizeof(Shared<std::uint64_t>))),
        uses(layout.add(shape.buffers() * sizeof(Shared<std::uint64_t>))),
        users(layout.add(shape.buffers() * words_for(shape.ranks) * sizeof(Shared<std::uint64_t>))),
        chunking(Chunking::of(shape.elements, shape.type, shape.world_ranks / shape.groups)) {
    Layout one;
    one.add(shape.elements * size_of(shape.type));
    slot_bytes = one.size();
    slots = layout.add(slot_bytes * shape.ranks * kSlots);
  }
};

int GroupShape::buffers() const {
  // A result per group and step in the window, and one for every helper that may be stopped in
  // the middle of an attempt. Memory is used by those in use.
  return std::min(groups, ranks) * (window + 1) + ranks;
}

std::size_t GroupShape::bytes() const {
  const GroupBoard::Parts parts(*this);
  return Reduction::extend(parts.layout, world_ranks, buffers(), parts.chunking, type).size();
}

std::size_t GroupShape::smallest_bytes() const {
  return (2 * ranks + std::min(groups, ranks)) * elements * size_of(type);
}

GroupBoard::GroupBoard(std::byte* memory, const GroupShape& shape, Roster& roster,
                       Platform& platform)
    : GroupBoard(memory, shape, Parts(shape), roster, platform) {}

GroupBoard::GroupBoard(std::byte* memory, const GroupShape& shape, const Parts& parts,
                       Roster& roster, Platform& platform)
    : shape_(shape),
      roster_(roster),
      platform_(platform),
      hot_(reinterpret_cast<Hot*>(memory + parts.hot)),
      records_(reinterpret_cast<Record*>(memory + parts.records)),
      ranks_(reinterpret_cast<RankState*>(memory + parts.ranks)),
      left_(reinterpret_cast<Shared<std::uint8_t>*>(memory + parts.left)),
      members_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.members)),
      reservations_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.reservations)),
      uses_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.uses)),
      users_(reinterpret_cast<Shared<std::uint64_t>*>(memory + parts.users)),
      slots_(memory + parts.slots),
      slot_bytes_(parts.slot_bytes),
      reduction_(memory, parts.layout, shape.buffers(), parts.chunking, shape.type, roster),
      contributors_(words_for(shape.world_ranks)),
      nobody_(words_for(shape.world_ranks)) {
  terms_.reserve(shape.ranks);
}

int GroupBoard::free_slot(RoundNumber own_step,
                          const std::function<int(RoundNumber)>& group_of) const {
  const int me = roster_.local_rank();
  std::array<bool, kSlots> busy{};
  busy[published_slot(me)] = true;
  for (RoundNumber ahead = own_step + 1; ahead <= own_step + shape_.window; ++ahead) {
    const auto word = MemberWord::unpack(member_word(ahead, me).load());
    if (word.round != ahead || (word.phase != Phase::proposed && word.phase != Phase::confirmed)) {
      continue;
    }
    if (result({.step = ahead, .group = group_of(ahead)}) == kNone) busy[word.slot] = true;
  }
  for (int slot_index = 0; slot_index < kSlots; ++slot_index) {
    if (!busy[slot_index]) return slot_index;
  }
  return kNone;
}

void GroupBoard::publish(int slot_index, RoundNumber step_number) {
  step(Step::deposit);
  ranks_[roster_.local_rank()].publication.store(
      Publication{.step = step_number, .slot = slot_index}.pack());
}

RoundNumber GroupBoard::published_step(int rank) const {
  return Publication::unpack(ranks_[rank].publication.load()).step;
}

int GroupBoard::published_slot(int rank) const {
  return Publication::unpack(ranks_[rank].publication.load()).slot;
}

bool GroupBoard::release_through(RoundNumber step_number) {
  step(Step::release);
  ranks_[roster_.local_rank()].seen.store(step_number);
  if (hot_->blocked.load() == 0) return false;
  hot_->blocked.store(0);
  hot_->event.signal(platform_);
  return true;
}

void GroupBoard::leave() {
  left_[roster_.local_rank()].store(1);
  for (int i = 0; i < shape_.depth() * shape_.groups; ++i) records_[i].event.signal(platform_);
  hot_->event.signal(platform_);
}

RoundNumber GroupBoard::slowest() {
  constexpr RoundNumber kNobody = std::numeric_limits<RoundNumber>::max();
  RoundNumber minimum = kNobody;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (counts(rank)) minimum = std::min(minimum, ranks_[rank].seen.load());
  }
  if (minimum == kNobody) return slowest_;
  if (shape_.across()) minimum = std::min(minimum, hot_->elsewhere.load());
  slowest_ = std::max(slowest_, minimum);
  return slowest_;
}

bool GroupBoard::window_allows(RoundNumber step_number) {
  const auto window = static_cast<RoundNumber>(shape_.window);
  return slowest_ + window >= step_number || slowest() + window >= step_number;
}

AttemptWord GroupBoard::attempt(const LocalGroup& where) const {
  return AttemptWord::unpack(record(where).attempt.load());
}

int GroupBoard::result(const LocalGroup& where) const {
  const auto done = AttemptWord::unpack(record(where).done.load());
  return done.round == where.step ? done.buffer : kNone;
}

std::span<Shared<std::uint64_t>> GroupBoard::users(int buffer) const {
  const std::size_t words = words_for(shape_.ranks);
  return {users_ + buffer * words, words};
}

bool GroupBoard::reusable(int buffer, std::uint64_t reservation) const {
  const auto taken = Reservation::unpack(reservation);
  if (taken.step == Reservation::kHeld) return false;
  if (taken.step <= slowest_) return true;
  // Somebody in the world lags, but perhaps nobody of the group it was taken for. Who took it
  // wrote down the group before it was through the step.
  if (seen(taken.rank) < taken.step) return false;
  const std::span<const Shared<std::uint64_t>> bits = users(buffer);
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const bool user = (bits[rank / 64].load_relaxed() >> (rank % 64) & 1) != 0;
    if (user && counts(rank) && seen(rank) < taken.step) return false;
  }
  return true;
}

int GroupBoard::reserve(const LocalGroup& where, int taker, bool held) {
  slowest();
  const bool suspicious = hot_->abandoned.load() != 0;
  const Reservation mine{.step = held ? Reservation::kHeld : where.step, .rank = taker};
  // The one used last is the one in the caches, and keeps the memory in use small.
  for (;;) {
    int best = kNone;
    std::uint64_t best_value = 0;
    for (int buffer = 0; buffer < shape_.buffers(); ++buffer) {
      const std::uint64_t value = reservations_[buffer].load();
      if (best != kNone && value <= best_value) continue;
      if (!reusable(buffer, value) || (suspicious && reduction_.in_use(buffer))) continue;
      best = buffer;
      best_value = value;
    }
    if (best == kNone) return kNone;
    if (!reservations_[best].replace(best_value, mine.pack())) continue;
    // Ours alone now. Steps come in any order from group to group, so chunks are told apart by
    // the use of the buffer.
    uses_[best].store(uses_[best].load_relaxed() + 1);
    for (Shared<std::uint64_t>& word : users(best)) word.store_relaxed(0);
    for (const int rank : where.members) {
      Shared<std::uint64_t>& word = users(best)[rank / 64];
      word.store_relaxed(word.load_relaxed() | std::uint64_t{1} << (rank % 64));
    }
    return best;
  }
}

void GroupBoard::let_go(int buffer, const LocalGroup& where, int taker) {
  reservations_[buffer].store(Reservation{.step = where.step, .rank = taker}.pack());
}

void GroupBoard::give_back(int buffer, RoundNumber step_number) {
  std::uint64_t value = Reservation{.step = step_number, .rank = roster_.local_rank()}.pack();
  reservations_[buffer].replace(value, 0);
}

bool GroupBoard::start(const LocalGroup& where) {
  step(Step::start);
  Shared<std::uint64_t>& word = record(where).attempt;
  std::uint64_t value = word.load();
  if (AttemptWord::unpack(value).round >= where.step) return false;
  const int buffer = reserve(where, roster_.local_rank());
  if (buffer == kNone) return false;
  if (word.replace(value, AttemptWord{.round = where.step, .buffer = buffer}.pack())) return true;
  give_back(buffer, where.step);
  return false;
}

void GroupBoard::retry(const LocalGroup& where, AttemptWord given_up) {
  step(Step::retry);
  hot_->abandoned.store(1);
  const int buffer = reserve(where, roster_.local_rank());
  if (buffer == kNone) return;
  std::uint64_t value = given_up.pack();
  const AttemptWord next{.round = where.step, .buffer = buffer};
  if (record(where).attempt.replace(value, next.pack())) {
    record(where).event.signal(platform_);
  } else {
    give_back(buffer, where.step);
  }
}

bool GroupBoard::choose(RoundNumber step_number, int rank) {
  Shared<std::uint64_t>& shared = member_word(step_number, rank);
  std::uint64_t value = shared.load();
  for (;;) {
    const auto word = MemberWord::unpack(value);
    if (word.round > step_number) return false;
    const bool looked = word.round == step_number;
    if (looked && (word.phase == Phase::confirmed || word.phase == Phase::absent)) return true;
    step(Step::decide);
    const auto newest = Publication::unpack(ranks_[rank].publication.load());
    if (newest.step > step_number) return false;  // The member has been through this round.
    MemberWord next{.round = step_number,
                    .phase = Phase::proposed,
                    .lag = static_cast<int>(step_number - newest.step),
                    .slot = newest.slot};
    if (!counts(rank)) {
      next.phase = Phase::absent;
      next.lag = 0;  // It grows for ever, and the word has eight bits for it.
    } else if (looked && word.lag == next.lag && word.slot == next.slot) {
      next.phase = Phase::confirmed;
    }
    if (shared.replace(value, next.pack())) value = next.pack();
  }
}

Reduction::Outcome GroupBoard::help(const LocalGroup& where) {
  const AttemptWord now = attempt(where);
  if (now.round != where.step || result(where) != kNone) return Reduction::Outcome::over;
  terms_.clear();
  std::fill(contributors_.begin(), contributors_.end(), 0);
  ResultHeader header{.round = where.step};
  for (const int rank : where.members) {
    if (!choose(where.step, rank)) return Reduction::Outcome::over;
    const auto word = MemberWord::unpack(member_word(where.step, rank).load());
    if (word.round != where.step) return Reduction::Outcome::over;
    if (word.phase != Phase::confirmed) continue;
    const int number = roster_.rank_of(rank);
    contributors_[number / 64] |= std::uint64_t{1} << (number % 64);
    header.weight += 1;
    header.staleness = std::max<std::uint64_t>(header.staleness, word.lag);
    terms_.push_back({.values = slot_values(rank, word.slot), .weight = 1});
  }
  // While this rank has not been through the step, a buffer of its group is not taken anew.
  const ReductionInput job{.tag = uses_[now.buffer].load(),
                           .buffer = now.buffer,
                           .attempt = &record(where).attempt,
                           .attempt_value = now.pack(),
                           .terms = terms_,
                           // The mean: a sum of weights may be more than sixteen bits can hold.
                           .scale = 1 / header.weight,
                           .header = &header,
                           .contributors = contributors_,
                           .reporters = nobody_};
  const Reduction::Outcome outcome = reduction_.help(job);
  if (outcome == Reduction::Outcome::complete) publish_result(where, now);
  return outcome;
}

void GroupBoard::publish_result(const LocalGroup& where, AttemptWord attempt) {
  step(Step::publish);
  Shared<std::uint64_t>& done = record(where).done;
  std::uint64_t value = done.load();
  // If this fails, another attempt at the same round was published first.
  if (AttemptWord::unpack(value).round < where.step && done.replace(value, attempt.pack())) {
    record(where).event.signal(platform_);
  }
}

std::optional<RoundNumber> GroupBoard::oldest_copy_ahead() const {
  const int me = roster_.local_rank();
  const RoundNumber through = published_step(me);
  std::optional<RoundNumber> oldest;
  for (RoundNumber ahead = through + 1; ahead <= through + shape_.window; ++ahead) {
    const auto word = MemberWord::unpack(member_word(ahead, me).load());
    if (word.round != ahead || word.phase == Phase::absent) continue;
    const RoundNumber copy = ahead - word.lag;
    if (!oldest || copy < *oldest) oldest = copy;
  }
  return oldest;
}

int GroupBoard::own_lag(RoundNumber step_number) const {
  const auto word = MemberWord::unpack(member_word(step_number, roster_.local_rank()).load());
  if (word.round != step_number || word.phase != Phase::confirmed) return kNone;
  return word.lag;
}

}  // namespace syncopate::board
