#include "partial/exchange.h"

#include <cstring>
#include <string>

#include "base/options.h"
#include "syncopate/error.h"

namespace syncopate::detail {

using partial::Arrival;
using partial::Deposits;
using partial::Participation;

PartialExchange::PartialExchange(board::Roster& roster, board::Platform& platform,
                                 const Duration& timeout, std::byte* memory,
                                 const partial::Shape& shape, const PartialOptions& options,
                                 std::shared_ptr<void> kept, agent::AgentHandle agent)
    : kept_(std::move(kept)),
      roster_(roster),
      platform_(platform),
      options_(options),
      board_(memory, shape, roster, platform),
      starter_(board_, options.trigger, options.grace),
      runner_(choose_runner(roster, platform, agent)),
      wait_(roster, platform, timeout, agent),
      reading_(board_.results.seen()),
      receipts_(roster, board_.results, starter_),
      steps_(options.grace, board_.participants, platform.now()) {}

PartialExchange::AnyRunner PartialExchange::choose_runner(board::Roster& roster,
                                                          board::Platform& platform,
                                                          agent::AgentHandle agent) {
  if (agent) return partial::AgentRunner(board_, roster, platform, agent);
  if (board_.shape.pairs()) return partial::PairRunner(board_, starter_, roster, platform);
  return partial::LocalRunner(board_, starter_, roster, platform);
}

PartialExchange::~PartialExchange() {
  if (participation_ == Participation::left || finished() || !roster_.may_speak()) return;
  take_part_as(Participation::left);
}

void PartialExchange::take_part_as(Participation participation) {
  participation_ = participation;
  board_.participants.set_participation(participation, board_.deposits.untold());
  with_runner([](auto& runner) { runner.notify(Then::go_on); });
}

void PartialExchange::check_open() const {
  roster_.check_seat();
  if (participation_ != Participation::left && !finished()) return;
  throw Error(ErrorCode::closed, "this collective was used after finish() or leave()",
              "Make a new one to go on");
}

void* PartialExchange::writable_slot() {
  check_open();
  return own_slot();
}

void* PartialExchange::own_slot() {
  if (writing_ == partial::kNoSlot) writing_ = board_.deposits.writable_slot();
  return board_.deposits.values(writing_);
}

void PartialExchange::begin_call() {
  check_open();
  if (const RoundNumber read = reading_.to_pass(); read > 0) note_passed(read);
  reading_.begin();
}

void PartialExchange::check_deposit(double weight, double largest) {
  begin_call();
  with_runner([](auto& runner) { runner.check(); });
  if (participation_ != Participation::active) {
    throw Error(ErrorCode::closed, "a deposit after stop()", "Deposit everything before stop()");
  }
  if (weight != 1) base::check_weight(weight, largest);
}

void PartialExchange::set_waiting(bool waiting) {
  waiting_ = waiting;
  board_.participants.set_waiting(waiting ? reading_.next() : 0);
}

template <partial::Runner Runner>
void PartialExchange::arrive(Runner& runner, const Arrival& arrival) {
  const bool clock_later = runner.expect(arrival);
  if (!clock_later || steps_.measures()) arrived_at_ = platform_.now();
  if (steps_.measures()) steps_.end(arrived_at_);
  // The rounds handed out before are no longer read. That this rank waits is said before the
  // deposit, so that one look at the others after it is enough: a rank that comes later sees that
  // this one waits. A rank that is late will not wait.
  const RoundNumber done = reading_.delivered();
  const bool waits = arrival.then == Then::wait && !runner.has_result(arrival.next);
  const bool unblocked = waits ? board_.results.release_through_and_wait(done, arrival.next)
                               : board_.results.release_through(done);
  waiting_ = waiting_ || waits;
  if (unblocked) runner.notify(Then::go_on);
  news_before_deposit_ = board_.event().read();
}

template <partial::Runner Runner>
void PartialExchange::put(Runner& runner, double weight, Then then, Deposits::Form form) {
  const Arrival arrival{.slot = writing_, .next = reading_.next(), .then = then};
  arrive(runner, arrival);
  board_.deposits.describe(arrival.slot, weight, reading_.delivered(), arrived_at_, form);
  writing_ = partial::kNoSlot;
  runner.deposit(arrival, arrived_at_);
}

void PartialExchange::deposit_slot(double weight, Then then) {
  check_deposit(weight, base::kLargestWeight);
  own_slot();
  with_runner([&](auto& runner) { put(runner, weight, then, Deposits::Form::values); });
}

void PartialExchange::deposit(const void* values, std::size_t elements, double weight, Then then) {
  base::check_buffer("to deposit", values, elements, board_.shape.elements);
  void* slot = writable_slot();
  if (elements > 0) std::memcpy(slot, values, board_.shape.vector_bytes());
  deposit_slot(weight, then);
}

void PartialExchange::restore(const void* sum, std::size_t elements, double weight) {
  base::check_buffer("to restore", sum, elements, board_.shape.elements);
  check_deposit(weight, base::kLargestTotalWeight);
  void* slot = own_slot();
  if (elements > 0) std::memcpy(slot, sum, board_.shape.vector_bytes());
  with_runner([&](auto& runner) { put(runner, weight, Then::go_on, Deposits::Form::sum); });
}

void PartialExchange::deposit_nothing(Then then) {
  check_deposit(0, base::kLargestWeight);
  with_runner([&](auto& runner) {
    const Arrival arrival{.slot = partial::kNoSlot, .next = reading_.next(), .then = then};
    arrive(runner, arrival);
    writing_ = partial::kNoSlot;  // Arriving may use the slot that was handed out for writing.
    runner.deposit(arrival, arrived_at_);
  });
}

std::optional<double> PartialExchange::copy_carried(void* into) const {
  roster_.check_seat();
  return board_.deposits.copy_carried(into);
}

void PartialExchange::keep_deposits() {
  roster_.check_seat();
  board_.deposits.keep();
}

bool PartialExchange::ready() {
  begin_call();
  const RoundNumber next = reading_.next();
  return with_runner([&](auto& runner) {
    if (runner.has_result(next)) return true;
    runner.poll(next, platform_.now());
    return board_.results.published() >= next;
  });
}

std::uint64_t PartialExchange::await() {
  begin_call();
  let_go(reading_.delivered());
  return with_runner([&](auto& runner) { return await(runner); });
}

template <partial::Runner Runner>
std::uint64_t PartialExchange::await(Runner& runner) {
  const RoundNumber next = reading_.next();
  if (runner.has_result(next)) {
    if (waiting_) set_waiting(false);
    runner.offer(next);
    receipts_.note_wait(0, Duration(0));
    return deliver(runner);
  }
  starter_.forget_who_blocked();
  Time now = waiting_
                 ? arrived_at_
                 : platform_.now();  // Read again only where time has passed: the clock is dear.
  wait_.begin(now);
  bool look = !waiting_ || runner.looks_at_once();
  const auto published = [&] { return board_.results.published() >= next; };
  for (;;) {
    const std::uint64_t news = board_.event().read();
    roster_.check_seat();
    if (published()) break;
    const board::Watched watched = runner.watched(next);
    if (runner.settle(next)) break;
    // After the news: a round that starts from here on changes them.
    look = look || news != news_before_deposit_;
    // (Soon, as a rank that is stopped between its deposit and the counter may be the last.)
    const Time again_at = look ? runner.advance(next, now) : now + board::kShortly;
    look = true;
    if (published()) break;
    if (wait_.expired(now)) {
      if (runner.give_up(next)) break;
      set_waiting(false);
      wait_.give_up(now, runner.blame(next), "round " + std::to_string(next));
    }
    if (again_at <= now || !waiting_) {
      // A rank that deposits from now on starts the round for us; look once more for one that just
      // did.
      if (!waiting_) {
        set_waiting(true);
        runner.notify(Then::wait);
      }
      now = platform_.now();
      continue;
    }
    now = wait_.for_news(board_.event(), news, now, again_at, board::Wait::Agent::driven, watched);
  }
  set_waiting(false);
  wait_.succeed();
  receipts_.note_wait(next, wait_.lasted(now));
  return deliver(runner);
}

template <partial::Runner Runner>
std::uint64_t PartialExchange::deliver(Runner& runner) {
  const std::uint64_t count = reading_.deliver(board_.results.published());
  runner.delivered();
  if (steps_.measures()) steps_.begin(platform_.now());
  if (board_.results.is_last(reading_.delivered())) reading_.deliver_last();
  roster_.check_seat();  // Or what was summed up may have changed meanwhile.
  return count;
}

void PartialExchange::pass(RoundNumber round) {
  roster_.check_seat();  // Or others may have written over what the caller has just used.
  if (round > passed()) note_passed(round);
}

void PartialExchange::note_passed(RoundNumber round) {
  reading_.pass(round);
  const bool releases = with_runner([&](auto& runner) { return runner.releases(round); });
  if (releases && roster_.may_speak()) let_go(round);  // A fork lets go of nothing.
}

void PartialExchange::stop_reading(RoundNumber round, bool used) noexcept {
  if (!reading_.reads(round)) return;
  used ? note_passed(round) : reading_.stop_reading();
}

void PartialExchange::let_go(RoundNumber round) {
  if (!board_.results.release_through(round)) return;
  with_runner([](auto& runner) { runner.notify(Then::go_on); });
}

const void* PartialExchange::values(RoundNumber round) const {
  return board_.results.buffers().values(board_.results.buffer_of(round));
}

Receipt PartialExchange::receipt(RoundNumber round) const {
  return receipts_.make(round,
                        std::visit([](const auto& runner) { return runner.dead(); }, runner_));
}

void PartialExchange::stop() {
  begin_call();
  let_go(reading_.delivered());
  if (participation_ == Participation::active) take_part_as(Participation::finishing);
}

void PartialExchange::leave() {
  begin_call();
  let_go(reading_.delivered());
  take_part_as(Participation::left);
}

}  // namespace syncopate::detail
