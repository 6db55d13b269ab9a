#include "partial/exchange.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/options.h"
#include "syncopate/error.h"

namespace syncopate::detail {

using namespace std::chrono_literals;
using partial::Deposits;
using partial::Participation;

PartialExchange::PartialExchange(board::Roster& roster, board::Platform& platform,
                                 const Duration& timeout, std::byte* memory,
                                 const partial::Shape& shape, const PartialOptions& options,
                                 std::shared_ptr<void> kept, AgentHandle agent)
    : kept_(std::move(kept)),
      roster_(roster),
      platform_(platform),
      options_(options),
      board_(memory, shape, roster, platform),
      starter_(board_, options.trigger, options.grace),
      runner_(choose_runner(roster, platform, agent)),
      wait_(roster, platform, timeout, agent),
      delivered_(board_.results.seen()),
      passed_(delivered_),
      computing_since_(platform.now()) {}

PartialExchange::AnyRunner PartialExchange::choose_runner(board::Roster& roster,
                                                          board::Platform& platform,
                                                          AgentHandle agent) {
  if (agent) return partial::AgentRunner(board_, roster, platform, agent);
  if (board_.shape.pairs()) return partial::PairRunner(board_, starter_, roster, platform);
  return partial::LocalRunner(board_, starter_, roster, platform);
}

PartialExchange::~PartialExchange() {
  if (closed_ || finished() || !roster_.may_speak()) return;
  board_.participants.set_participation(Participation::left, board_.deposits.untold());
  with_runner([](auto& runner) { runner.notify(); });
}

void PartialExchange::check_open() const {
  roster_.check_seat();
  if (!closed_ && !finished()) return;
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
  if (read_ > passed_) note_passed(read_);
  delivered_ = passed_;
}

void PartialExchange::check_deposit(double weight, double largest) {
  begin_call();
  with_runner([](auto& runner) { runner.check(); });
  if (stopped_) {
    throw Error(ErrorCode::closed, "a deposit after stop()", "Deposit everything before stop()");
  }
  if (weight != 1) check_weight(weight, largest);
}

void PartialExchange::set_waiting(bool waiting) {
  waiting_ = waiting;
  board_.participants.set_waiting(waiting ? delivered_ + 1 : 0);
}

template <typename Runner>
void PartialExchange::arrive(Runner& runner, Then then, bool clock_later) {
  if (!clock_later || measures_steps()) arrived_at_ = platform_.now();
  if (measures_steps()) {
    step_times_.add(Duration(arrived_at_ - computing_since_));
    board_.participants.note_step_time(step_times_.typical());
  }
  // The rounds handed out before are no longer read. That this rank waits is said before the
  // deposit, so that one look at the others after it is enough: a rank that comes later sees that
  // this one waits. A rank that is late will not wait.
  const bool waits = then == Then::wait && !runner.has_result(delivered_ + 1);
  const bool unblocked = waits ? board_.results.release_through_and_wait(delivered_, delivered_ + 1)
                               : board_.results.release_through(delivered_);
  waiting_ = waiting_ || waits;
  if (unblocked) runner.notify();
  news_before_deposit_ = board_.event().read();
}

template <typename Runner>
void PartialExchange::put(Runner& runner, double weight, Then then, Deposits::Form form) {
  const RoundNumber next = delivered_ + 1;
  const int slot = writing_;
  arrive(runner, then, runner.before_deposit(slot, next, then));
  board_.deposits.describe(slot, weight, delivered_, arrived_at_, form);
  runner.before_put(slot, next);
  const Deposits::Put put = board_.deposits.put(slot);
  writing_ = partial::kNoSlot;
  runner.after_deposit(put, next, then, arrived_at_);
}

void PartialExchange::deposit_slot(double weight, Then then) {
  check_deposit(weight, kLargestWeight);
  own_slot();
  with_runner([&](auto& runner) { put(runner, weight, then, Deposits::Form::values); });
}

void PartialExchange::deposit(const void* values, std::size_t elements, double weight, Then then) {
  check_buffer("to deposit", values, elements, board_.shape.elements);
  void* slot = writable_slot();
  if (elements > 0) std::memcpy(slot, values, board_.shape.vector_bytes());
  deposit_slot(weight, then);
}

void PartialExchange::restore(const void* sum, std::size_t elements, double weight) {
  check_buffer("to restore", sum, elements, board_.shape.elements);
  check_deposit(weight, kLargestTotalWeight);
  void* slot = own_slot();
  if (elements > 0) std::memcpy(slot, sum, board_.shape.vector_bytes());
  with_runner([&](auto& runner) { put(runner, weight, Then::go_on, Deposits::Form::sum); });
}

void PartialExchange::deposit_nothing(Then then) {
  check_deposit(0, kLargestWeight);
  with_runner([&](auto& runner) {
    const RoundNumber next = delivered_ + 1;
    arrive(runner, then, runner.before_deposit(partial::kNoSlot, next, then));
    const Deposits::Put put = board_.deposits.arrive(delivered_, arrived_at_);
    writing_ = partial::kNoSlot;  // Arriving may use the slot that was handed out for writing.
    runner.after_deposit(put, next, then, arrived_at_);
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
  const RoundNumber next = delivered_ + 1;
  return with_runner([&](auto& runner) {
    if (runner.has_result(next)) return true;
    runner.notify_polling(next);
    runner.advance(next, platform_.now());
    return board_.results.published() >= next;
  });
}

std::uint64_t PartialExchange::await() {
  begin_call();
  let_go(delivered_);
  return with_runner([&](auto& runner) { return await(runner); });
}

template <typename Runner>
std::uint64_t PartialExchange::await(Runner& runner) {
  const RoundNumber next = delivered_ + 1;
  if (runner.has_result(next)) {
    if (waiting_) set_waiting(false);
    runner.offer(next);
    awaited_round_ = 0;
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
        runner.notify_waiting();
      }
      now = platform_.now();
      continue;
    }
    now = wait_.for_news(board_.event(), news, now, again_at, board::Wait::Agent::driven, watched);
  }
  set_waiting(false);
  wait_.succeed();
  awaited_round_ = next;
  waited_ = wait_.lasted(now);
  return deliver(runner);
}

template <typename Runner>
std::uint64_t PartialExchange::deliver(Runner& runner) {
  const RoundNumber first = delivered_ + 1;
  delivered_ = std::max(board_.results.published(), first);
  runner.delivered();
  if (measures_steps()) computing_since_ = platform_.now();
  if (board_.results.is_last(delivered_)) last_ = delivered_;
  roster_.check_seat();  // Or what was summed up may have changed meanwhile.
  return delivered_ + 1 - first;
}

void PartialExchange::pass(RoundNumber round) {
  roster_.check_seat();  // Or others may have written over what the caller has just used.
  if (round > passed_) note_passed(round);
}

void PartialExchange::note_passed(RoundNumber round) {
  passed_ = round;
  const bool releases = with_runner([&](auto& runner) { return runner.releases(round); });
  if (releases && roster_.may_speak()) let_go(round);  // A fork lets go of nothing.
}

void PartialExchange::stop_reading(RoundNumber round, bool used) noexcept {
  if (read_ != round || round <= passed_) return;
  if (used) note_passed(round);
  if (!used) read_ = 0;
}

void PartialExchange::let_go(RoundNumber round) {
  if (!board_.results.release_through(round)) return;
  with_runner([](auto& runner) { runner.notify(); });
}

const void* PartialExchange::values(RoundNumber round) const {
  return board_.results.buffers().values(board_.results.buffer_of(round));
}

Receipt PartialExchange::receipt(RoundNumber round) const {
  const board::Reduction& buffers = board_.results.buffers();
  const int buffer = board_.results.buffer_of(round);
  const board::ResultHeader& header = buffers.header(buffer);
  const int ranks = roster_.world_size();
  const int me = roster_.rank();
  const auto to_set = [&](std::span<const std::uint64_t> bits) {
    RankSet set(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      if ((bits[rank / 64] >> (rank % 64) & 1) != 0) set.insert(rank);
    }
    return set;
  };
  Receipt receipt{.round = round,
                  .contributors = to_set(buffers.contributors(buffer)),
                  .dropped = to_set(buffers.reporters(buffer)),
                  .drops = header.dropped,
                  .staleness = header.staleness,
                  .weight = header.weight,
                  .last = header.last};
  receipt.dead = std::visit([](const auto& runner) { return runner.dead(); }, runner_);
  receipt.included = receipt.contributors.contains(me);
  if (round == awaited_round_ && waited_ > 0ns) {
    receipt.waited = waited_;
    const int blocked_by = starter_.blocked_by();
    receipt.waited_for = blocked_by >= 0 ? blocked_by : header.newest == me ? -1 : header.newest;
  }
  return receipt;
}

void PartialExchange::stop() {
  begin_call();
  let_go(delivered_);
  if (stopped_) return;
  stopped_ = true;
  board_.participants.set_participation(Participation::finishing, board_.deposits.untold());
  with_runner([](auto& runner) { runner.notify(); });
}

void PartialExchange::leave() {
  begin_call();
  let_go(delivered_);
  closed_ = true;
  board_.participants.set_participation(Participation::left, board_.deposits.untold());
  with_runner([](auto& runner) { runner.notify(); });
}

}  // namespace syncopate::detail
