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
      board_(memory, shape, roster, platform, agent),
      starter_(board_, options.trigger, options.grace),
      runner_(choose_runner(roster, platform, agent)),
      wait_(roster, platform, timeout, agent),
      reader_(board_, starter_, roster, agent),
      steps_(options.grace, board_.participants, platform.now()) {}

PartialExchange::AnyRunner PartialExchange::choose_runner(board::Roster& roster,
                                                          board::Platform& platform,
                                                          agent::AgentHandle agent) {
  switch (board_.shape.way()) {
    case partial::Way::agents:
      return partial::AgentRunner(board_, roster, platform, agent);
    case partial::Way::pair:
      return partial::PairRunner(board_, starter_, roster, platform);
    case partial::Way::local:
      break;
  }
  return partial::LocalRunner(board_, starter_, roster, platform);
}

PartialExchange::~PartialExchange() {
  if (participation_ == Participation::left || reader_.finished() || !roster_.seat().may_speak())
    return;
  take_part_as(Participation::left);
}

void PartialExchange::take_part_as(Participation participation) {
  participation_ = participation;
  board_.participants.set_participation(participation, board_.deposits.untold());
}

void PartialExchange::refuse_closed() {
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
  reader_.begin_call();
}

void PartialExchange::check_deposit(double weight, double largest) {
  begin_call();
  wait_.check_agent();
  if (participation_ != Participation::active) {
    throw Error(ErrorCode::closed, "a deposit after stop()", "Deposit everything before stop()");
  }
  if (weight != 1) base::check_weight(weight, largest);
}

void PartialExchange::set_waiting(bool waiting) {
  waiting_ = waiting;
  board_.participants.set_waiting(waiting ? reader_.next() : 0);
}

template <partial::Runner Runner>
void PartialExchange::arrive(Runner& runner, const Arrival& arrival) {
  const bool clock_later = runner.expect(arrival);
  if (!clock_later || steps_.measures()) arrived_at_ = platform_.now();
  if (steps_.measures()) steps_.end(arrived_at_);
  // The rounds handed out before are no longer read. That this rank waits is said before the
  // deposit, so that one look at the others after it is enough: a rank that comes later sees that
  // this one waits. A rank that is late will not wait.
  const RoundNumber done = reader_.delivered();
  const bool waits = arrival.then == Then::wait && !runner.has_result(arrival.next);
  waits ? board_.window.release_through_and_wait(done, arrival.next)
        : board_.window.release_through(done);
  waiting_ = waiting_ || waits;
  news_before_deposit_ = board_.event().read();
}

template <partial::Runner Runner>
void PartialExchange::put(Runner& runner, double weight, Then then, Deposits::Form form) {
  const Arrival arrival{.slot = writing_, .next = reader_.next(), .then = then};
  arrive(runner, arrival);
  board_.deposits.describe(arrival.slot, weight, reader_.delivered(), arrived_at_, form);
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
    const Arrival arrival{.slot = partial::kNoSlot, .next = reader_.next(), .then = then};
    arrive(runner, arrival);
    writing_ = partial::kNoSlot;  // Arriving may use the slot that was handed out for writing.
    runner.deposit(arrival, arrived_at_);
  });
}

std::optional<double> PartialExchange::copy_carried(void* into) const {
  roster_.seat().check();
  return board_.deposits.copy_carried(into);
}

void PartialExchange::keep_deposits() {
  roster_.seat().check();
  board_.deposits.keep();
}

bool PartialExchange::ready() {
  begin_call();
  const RoundNumber next = reader_.next();
  return with_runner([&](auto& runner) {
    if (runner.has_result(next)) return true;
    runner.poll(next, platform_.now());
    return board_.results.published() >= next;
  });
}

std::uint64_t PartialExchange::await() {
  begin_call();
  board_.window.release_through(reader_.delivered());
  return with_runner([&](auto& runner) { return await(runner); });
}

template <partial::Runner Runner>
std::uint64_t PartialExchange::await(Runner& runner) {
  const RoundNumber next = reader_.next();
  if (runner.has_result(next)) {
    if (waiting_) set_waiting(false);
    runner.offer(next);
    reader_.note_wait(0, Duration(0));
    return deliver();
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
    roster_.seat().check();
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
        runner.begin_waiting();
      }
      now = platform_.now();
      continue;
    }
    now = wait_.for_news(board_.event(), news, now, again_at, board::Wait::Agent::driven, watched);
  }
  set_waiting(false);
  wait_.succeed();
  reader_.note_wait(next, wait_.lasted(now));
  return deliver();
}

std::uint64_t PartialExchange::deliver() {
  const std::uint64_t count = reader_.deliver();
  if (steps_.measures()) steps_.begin(platform_.now());
  roster_.seat().check();  // Or what was summed up may have changed meanwhile.
  return count;
}

void PartialExchange::stop() {
  begin_call();
  board_.window.release_through(reader_.delivered());
  if (participation_ == Participation::active) take_part_as(Participation::finishing);
}

void PartialExchange::leave() {
  begin_call();
  board_.window.release_through(reader_.delivered());
  take_part_as(Participation::left);
}

}  // namespace syncopate::detail
