#include "group/results.h"

#include "base/bits.h"
#include "base/check.h"

namespace syncopate::group {

using board::step;
using board::Step;

Results::Results(std::byte* memory, const Memory& parts, const Shape& shape,
                 const Participants& participants, Window& window, const board::Roster& roster)
    : memory_(parts),
      shape_(shape),
      participants_(participants),
      window_(window),
      buffers_(Memory::make_reduction(memory, shape, roster)) {}

int Results::buffer_of(const LocalGroup& where) const {
  const auto done = AttemptWord::unpack(memory_.record(where).done.load());
  return done.round == where.step ? done.buffer : kNoBuffer;
}

bool Results::reusable(int buffer, std::uint64_t reservation) const {
  const auto taken = Reservation::unpack(reservation);
  if (taken.step == Reservation::kHeld) return false;
  if (taken.step <= window_.seen_by_all()) return true;
  // A rank of the world lags, but perhaps none of the group it was taken for. The rank that took it
  // wrote down the group before it was through the step.
  if (participants_.seen(taken.rank) < taken.step) return false;
  const std::span<const Shared<std::uint64_t>> users = memory_.users(buffer);
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    const bool user = (users[bits::word_of(rank)].load_relaxed() & bits::bit_of(rank)) != 0;
    if (user && participants_.counts(rank) && participants_.seen(rank) < taken.step) return false;
  }
  return true;
}

int Results::take(const LocalGroup& where, Reservation mine) {
  window_.look_at_all();
  const bool suspicious = memory_.news->abandoned.load() != 0;
  // The one used last is the one in the caches, and keeps the memory in use small.
  for (;;) {
    int best = kNoBuffer;
    std::uint64_t best_value = 0;
    for (int buffer = 0; buffer < shape_.buffers(); ++buffer) {
      const std::uint64_t value = memory_.reservations[buffer].load();
      if (best != kNoBuffer && value <= best_value) continue;
      if (!reusable(buffer, value) || (suspicious && buffers_.in_use(buffer))) continue;
      best = buffer;
      best_value = value;
    }
    if (best == kNoBuffer) return kNoBuffer;
    if (!memory_.reservations[best].replace(best_value, mine.pack())) continue;
    // Ours alone now.
    memory_.uses[best].store(memory_.uses[best].load_relaxed() + 1);
    const std::span<Shared<std::uint64_t>> users = memory_.users(best);
    for (Shared<std::uint64_t>& word : users) word.store_relaxed(0);
    for (const int rank : where.members) {
      Shared<std::uint64_t>& word = users[bits::word_of(rank)];
      word.store_relaxed(word.load_relaxed() | bits::bit_of(rank));
    }
    return best;
  }
}

int Results::reserve(const LocalGroup& where) {
  return take(where, {.step = where.step, .rank = participants_.me()});
}

void Results::give_back(int buffer, RoundNumber step_number) {
  std::uint64_t value = Reservation{.step = step_number, .rank = participants_.me()}.pack();
  memory_.reservations[buffer].replace(value, 0);
}

int Results::hold(const LocalGroup& where) {
  return take(where, {.step = Reservation::kHeld, .rank = where.members.front()});
}

void Results::let_go(int buffer, const LocalGroup& where) {
  Shared<std::uint64_t>& reservation = memory_.reservations[buffer];
  SYNCOPATE_CHECK(Reservation::unpack(reservation.load_relaxed()).step == Reservation::kHeld,
                  "results.h 2: the agent held it until now");
  reservation.store(Reservation{.step = where.step, .rank = where.members.front()}.pack());
}

bool Results::publish(const LocalGroup& where, AttemptWord attempt) {
  step(Step::publish);
  Shared<std::uint64_t>& done = memory_.record(where).done;
  std::uint64_t value = done.load();
  if (AttemptWord::unpack(value).round >= where.step) return false;
  if (!done.replace(value, attempt.pack())) return false;
  // (The others do not wait for a rank that they take for dead, though it lives.)
  SYNCOPATE_CHECK(
      reserved_for(attempt.buffer) == where.step || !participants_.counts(participants_.me()),
      "results.h 1: no other round has taken the buffer of this one");
  return true;
}

void Results::publish_alone(const LocalGroup& where, int buffer) {
  step(Step::publish);
  Shared<std::uint64_t>& done = memory_.record(where).done;
  SYNCOPATE_CHECK(AttemptWord::unpack(done.load_relaxed()).round <= where.step,
                  "results.h 4: a record goes on to later steps only");
  done.store(AttemptWord{.round = where.step, .buffer = buffer}.pack());
}

}  // namespace syncopate::group
