#include "group/rounds.h"

#include <algorithm>

#include "base/bits.h"
#include "base/check.h"

namespace syncopate::group {

using board::step;
using board::Step;
using Phase = MemberWord::Phase;

Rounds::Rounds(const Memory& memory, const Shape& shape, const Participants& participants,
               const Window& window, const Publications& publications, Results& results,
               const board::Roster& roster, board::Platform& platform)
    : memory_(memory),
      shape_(shape),
      participants_(participants),
      window_(window),
      publications_(publications),
      results_(results),
      roster_(roster),
      platform_(platform),
      contributors_(bits::words_for(shape.world_ranks)),
      nobody_(bits::words_for(shape.world_ranks)) {
  terms_.reserve(shape.ranks);
}

void Rounds::signal_all() const {
  for (Record& record : memory_.records()) record.event.signal(platform_);
}

bool Rounds::start(const LocalGroup& where) {
  step(Step::start);
  SYNCOPATE_CHECK(window_.seen_by_all() + shape_.window >= where.step,
                  "window.h 2: no rank is left behind by more than the window");
  Shared<std::uint64_t>& word = memory_.record(where).attempt;
  std::uint64_t value = word.load();
  if (AttemptWord::unpack(value).round >= where.step) return false;
  const int buffer = results_.reserve(where);
  if (buffer == kNoBuffer) return false;
  if (word.replace(value, AttemptWord{.round = where.step, .buffer = buffer}.pack())) return true;
  results_.give_back(buffer, where.step);
  return false;
}

void Rounds::retry(const LocalGroup& where, AttemptWord given_up) {
  step(Step::retry);
  results_.note_abandoned();
  const int buffer = results_.reserve(where);
  if (buffer == kNoBuffer) return;
  SYNCOPATE_CHECK(given_up.round == where.step, "rounds.h 1: an attempt never goes back");
  SYNCOPATE_CHECK(buffer != given_up.buffer, "rounds.h 2: an attempt has its own buffer");
  std::uint64_t value = given_up.pack();
  const AttemptWord next{.round = where.step, .buffer = buffer};
  if (memory_.record(where).attempt.replace(value, next.pack())) {
    signal(where);
  } else {
    results_.give_back(buffer, where.step);
  }
}

bool Rounds::choose(RoundNumber step_number, int rank) {
  Shared<std::uint64_t>& shared = memory_.member_word(step_number, rank);
  std::uint64_t value = shared.load();
  for (;;) {
    const auto word = MemberWord::unpack(value);
    if (word.round > step_number) return false;
    const bool looked = word.round == step_number;
    if (looked && (word.phase == Phase::confirmed || word.phase == Phase::absent)) return true;
    step(Step::decide);
    const Publication newest = publications_.newest(rank);
    if (newest.step > step_number) return false;  // The member has been through this round.
    MemberWord next{.round = step_number,
                    .phase = Phase::proposed,
                    .lag = static_cast<int>(step_number - newest.step),
                    .slot = newest.slot};
    if (!participants_.counts(rank)) {
      next.phase = Phase::absent;
      next.lag = 0;  // It grows for ever, and the word has eight bits for it.
    } else if (looked && word.lag == next.lag && word.slot == next.slot) {
      next.phase = Phase::confirmed;
    }
    if (shared.replace(value, next.pack())) value = next.pack();
  }
}

Rounds::Outcome Rounds::help(const LocalGroup& where) {
  const AttemptWord now = attempt(where);
  if (now.round != where.step || results_.buffer_of(where) != kNoBuffer) return Outcome::over;
  terms_.clear();
  std::fill(contributors_.begin(), contributors_.end(), 0);
  board::ResultHeader header{.round = where.step};
  for (const int rank : where.members) {
    if (!choose(where.step, rank)) return Outcome::over;
    const MemberWord word = choice(where.step, rank);
    if (word.round != where.step) return Outcome::over;
    if (word.phase != Phase::confirmed) continue;
    bits::insert(contributors_, roster_.rank_of(rank));
    header.weight += 1;
    header.staleness = std::max<std::uint64_t>(header.staleness, word.lag);
    terms_.push_back({.values = memory_.values(rank, word.slot), .weight = 1});
  }
  // While this rank has not been through the step, a buffer of its group is not taken anew.
  const board::ReductionInput job{.tag = results_.use_of(now.buffer),
                                  .buffer = now.buffer,
                                  .attempt = &memory_.record(where).attempt,
                                  .attempt_value = now.pack(),
                                  .terms = terms_,
                                  // The mean: sixteen bits may not hold a sum of weights.
                                  .scale = 1 / header.weight,
                                  .header = &header,
                                  .contributors = contributors_,
                                  .reporters = nobody_};
  const Outcome outcome = results_.buffers().help(job);
  if (outcome == Outcome::complete && results_.publish(where, now)) signal(where);
  return outcome;
}

}  // namespace syncopate::group
