#include "partial/pair_runner.h"

#include "base/check.h"
#include "kernel/kernel.h"

namespace syncopate::partial {

using board::step;
using board::Step;

PairRunner::PairRunner(Board& board, Starter& starter, board::Roster& roster,
                       board::Platform& platform)
    : board_(board),
      starter_(starter),
      platform_(platform),
      rounds_(board, starter, roster, platform) {}

bool PairRunner::expect(const Arrival& arrival) {
  const RoundNumber next = arrival.next;
  // With an older deposit on the board this one would have to be added to it; and where a round has
  // decided that we have not seen, it would be for a later one.
  // (A round that was settled and not read: what is deposited now is for the one after it.)
  const bool firm = arrival.then == Then::wait && board_.settled.through != next &&
                    arrival.slot == Pair::slot_of(next) &&
                    (board_.settled.just_now || board_.deposits.first_for(next));
  board_.settled.just_now = false;
  firm_for_ = firm ? next : 0;
  return firm;  // Where the other is there already, the time of arrival is of no use.
}

void PairRunner::deposit(const Arrival& arrival, Time& arrived_at) {
  const RoundNumber next = arrival.next;
  const int me = board_.participants.me();
  const bool is_firm = firm_for_ == next;
  if (is_firm) {
    SYNCOPATE_CHECK(arrival.slot == Pair::slot_of(next),
                    "pair_runner.h 1: the other knows where to look");
    step(Step::deposit);
    firm(me, next).store_release(next);
  }
  const Deposits::Put put = board_.deposits.put(arrival.slot, next - 1, arrived_at);
  SYNCOPATE_CHECK(!is_firm || put == Deposits::Put::arrived,
                  "pair_runner.h 1: a firm deposit is alone");
  came_last_ = true;
  if (settle(next)) return board_.event().rouse(platform_);
  if (is_firm) {
    arrived_at = platform_.now();
    board_.memory.note(me, arrival.slot).arrived.store_relaxed(arrived_at);
  }
  if (put == Deposits::Put::arrived) {
    came_last_ = board_.participants.has_deposit(other()) || !board_.participants.counts(other());
  }
  if (arrival.then == Then::go_on) offer(next);
}

bool PairRunner::settle(RoundNumber next) {
  if (!could_settle(next)) return false;
  sum_up(next);
  return true;
}

void PairRunner::sum_up(RoundNumber round) {
  SYNCOPATE_CHECK(board_.settled.through < round, "pair_runner.h 2: a round is settled once");
  Contributions& both = board_.contributions;
  both.collect_from(Pair::slot_of(round), round);
  both.header().newest = static_cast<std::int16_t>(other());  // If we waited, then for the other.
  step(Step::reduce);
  const Shape& shape = board_.shape;
  board::Reduction& buffers = board_.results.buffers();
  const int buffer = board_.results.own_buffer();
  buffers.describe(buffer, both.header(), both.contributors(), both.reporters());
  board::weighted_sum(shape.type, shape.elements, both.terms(), both.scale(),
                      buffers.values(buffer));
  board_.settled.through = round;
  board_.settled.just_now = true;
  board_.deposits.note_taken();
}

Time PairRunner::advance(RoundNumber next, Time now) {
  const RoundNumber published = board_.results.published();
  if (published >= next) return now;
  if (board_.running.attempt().round <= published) {
    const Starter::Outlook outlook = starter_.look(next, now);
    if (!outlook.start) return outlook.again_at;
    // The other is here since we looked: what both wait for is settled, and not run as well.
    if (could_settle(next)) return now;
    catch_up();
    if (const Time later = rounds_.start(next, outlook.last, now); later > 0) return later;
  }
  return rounds_.help(now);
}

board::Watched PairRunner::watched(RoundNumber next) const {
  if (firm_for_ != next) return {};
  const Shared<RoundNumber>& word = firm(other(), next);
  return {.word = &word, .seen = word.load()};
}

bool PairRunner::give_up(RoundNumber next) {
  if (firm_for_ != next) return false;
  firm(board_.participants.me(), next).store(0);
  if (settle(next)) return true;
  firm_for_ = 0;
  return false;
}

}  // namespace syncopate::partial
