#include "collective/partial_exchange.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "collective/durations.h"
#include "collective/options.h"
#include "syncopate/error.h"

namespace syncopate::detail {
namespace {

using namespace std::chrono_literals;
using board::AttemptWord;
using board::kNever;
using board::PartialBoard;
using board::Reduction;
using board::Standing;
using board::Time;

/// Whoever came last so often in a row is expected to do so again. Among ranks that are even this
/// is rare, and to ask for the deposits of ranks that are yet to make them would hold these up.
constexpr int kLikelyLastAgain = 4;

}  // namespace

board::PartialShape PartialExchange::shape(std::size_t elements, DataType type,
                                           const board::Roster& roster,
                                           const PartialOptions& options) {
  board::PartialShape result = shape(elements, type, roster.ranks(), options);
  result.world_ranks = roster.world_ranks();
  return result;
}

board::PartialShape PartialExchange::shape(std::size_t elements, DataType type, int ranks,
                                           const PartialOptions& options) {
  return {.elements = elements,
          .type = type,
          .ranks = ranks,
          .world_ranks = ranks,
          .window = options.window,
          .scale = options.scale,
          .younger_than = options.late.younger_than,
          .waits_for_all = options.trigger.kind == Trigger::Kind::all};
}

PartialExchange::PartialExchange(board::Roster& roster, board::Host& host, const Duration& timeout,
                                 std::byte* memory, std::size_t elements, DataType type,
                                 const PartialOptions& options, std::shared_ptr<void> kept,
                                 Liaison agent)
    : kept_(std::move(kept)),
      roster_(roster),
      host_(host),
      agent_(agent),
      timeout_(timeout),
      options_(options),
      elements_(elements),
      type_(type),
      board_(memory, shape(elements, type, roster, options), roster, host),
      lookout_(host, roster.oversubscribed()),
      helpers_(helpers_to_wake(roster, board_.results().chunking().count)),
      delivered_(board_.seen()),
      process_(getpid()),
      computing_since_(host.now()),
      settles_(board_.shape().settles()) {}

PartialExchange::~PartialExchange() {
  if (closed_ || getpid() != process_) return;
  board_.set_standing(Standing::left);
  agent_.call();
}

void PartialExchange::check_open() const {
  if (!closed_) return;
  throw Error(ErrorCode::closed, "this collective was used after finish() or leave()",
              "Make a new one to go on");
}

void* PartialExchange::writable_slot() {
  check_open();
  if (writing_ < 0) writing_ = board_.writable_slot();
  return board_.slot(writing_);
}

void PartialExchange::release_through(std::uint64_t round) {
  if (!board_.settled(round)) let_go(round);  // Nobody waits for results of our own.
}

void PartialExchange::let_go(std::uint64_t round) {
  if (board_.release_through(round)) agent_.call();
}

void PartialExchange::set_waiting(bool waiting) {
  waiting_ = waiting;
  board_.set_waiting(waiting ? delivered_ + 1 : 0);
}

void PartialExchange::check_deposit(double weight) const {
  check_open();
  agent_.check();
  if (stopped_) {
    throw Error(ErrorCode::closed, "a deposit after stop()", "Deposit everything before stop()");
  }
  if (!std::isfinite(weight) || weight < 0) {
    throw Error(ErrorCode::invalid_argument, "the weight of a deposit is " + std::to_string(weight),
                "Give a finite number that is not negative");
  }
}

void PartialExchange::begin_deposit(Then then, bool firm) {
  if (last_in_a_row_ >= kLikelyLastAgain) board_.fetch_ahead();
  firm_ = firm;
  if (!firm || options_.grace.share > 0) arrived_at_ = host_.now();
  if (options_.grace.share > 0) {
    step_times_.add(Duration(arrived_at_ - computing_since_));
    board_.note_step_time(step_times_.typical());
  }
  // The rounds handed out before are no longer read. That this rank waits is said before the
  // deposit, so that one look at the others after it is enough: whoever comes later sees that
  // somebody waits. A rank that is late will not wait.
  const bool waits = then == Then::wait && board_.published() <= delivered_;
  const bool unblocked = waits ? board_.release_through_and_wait(delivered_, delivered_ + 1)
                               : board_.release_through(delivered_);
  waiting_ = waiting_ || waits;
  if (unblocked) agent_.call();
  news_before_deposit_ = board_.event().read();
}

void PartialExchange::end_deposit(Then then, PartialBoard::Put put) {
  writing_ = -1;
  if (agent_) return then == Then::wait ? agent_.call_and_wait() : agent_.call();
  came_last_ = true;
  if (firm_ && board_.settle(delivered_ + 1)) return board_.event().rouse(host_);
  if (firm_) {
    // The clock is read only now: where the other is there already nobody needs to know.
    arrived_at_ = host_.now();
    board_.note_arrival(delivered_ + 1, arrived_at_);
  }
  if (options_.trigger.kind == Trigger::Kind::all && put == PartialBoard::Put::arrived) {
    came_last_ = settles_ ? board_.others_here() : board_.completes_attendance();
    last_in_a_row_ = came_last_ && !settles_ ? last_in_a_row_ + 1 : 0;
  }
  if (then == Then::go_on) offer();
}

void PartialExchange::deposit_slot(double weight, Then then) {
  check_deposit(weight);
  writable_slot();
  const bool firm = then == Then::wait && board_.may_be_firm(writing_, delivered_ + 1);
  begin_deposit(then, firm);
  end_deposit(then, board_.deposit(writing_, weight, delivered_, arrived_at_,
                                   PartialBoard::Form::values, firm));
}

void PartialExchange::deposit(const void* values, std::size_t elements, double weight, Then then) {
  check_buffer("to deposit", values, elements, elements_);
  void* slot = writable_slot();
  if (elements > 0) std::memcpy(slot, values, elements * size_of(type_));
  deposit_slot(weight, then);
}

void PartialExchange::restore(const void* sum, std::size_t elements, double weight) {
  check_buffer("to restore", sum, elements, elements_);
  check_deposit(weight);
  void* slot = writable_slot();
  if (elements > 0) std::memcpy(slot, sum, elements * size_of(type_));
  begin_deposit(Then::go_on);
  end_deposit(Then::go_on,
              board_.deposit(writing_, weight, delivered_, arrived_at_, PartialBoard::Form::sum));
}

void PartialExchange::deposit_nothing(Then then) {
  check_deposit(0);
  begin_deposit(then);
  // Arriving may use the slot that was handed out for writing.
  end_deposit(then, board_.arrive(delivered_, arrived_at_));
}

round::Attendance PartialExchange::attendance(std::uint64_t round) const {
  round::Attendance result;
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    const bool here = board_.has_deposit(rank);
    const bool counts = board_.counts(rank);
    result.here += here ? 1 : 0;
    result.counting += counts ? 1 : 0;
    result.counting_here += here && counts ? 1 : 0;
    // One missing rank says it all; every further look would take a word from its owner.
    if (options_.trigger.kind == Trigger::Kind::all && counts && !here) break;
  }
  if (options_.trigger.kind == Trigger::Kind::majority) {
    const int drawn = round::draw(options_.trigger.seed, round, roster_.ranks(),
                                  [&](int rank) { return board_.counts(rank); });
    result.drawn_here = drawn >= 0 && board_.has_deposit(drawn);
  }
  return result;
}

Duration PartialExchange::grace() const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  std::vector<Duration> times;
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    if (const Duration time = board_.step_time(rank); board_.counts(rank) && time > 0ns) {
      times.push_back(time);
    }
  }
  return Duration(std::llround(double(round::median(times).count()) * options_.grace.share));
}

PartialExchange::Outlook PartialExchange::outlook(std::uint64_t round, Time now) {
  const round::Attendance here = attendance(round);
  const bool following = board_.standing(roster_.rank()) == Standing::finishing;
  // A rank that only follows leaves it to the others to start rounds, until it is the last.
  if (following && here.counting > 0) return {.again_at = kNever};
  if (!following && !round::holds(options_.trigger, here)) return {.again_at = kNever};
  if (!board_.window_allows(round)) {
    board_.set_blocked();
    if (!board_.window_allows(round)) {
      for (int rank = 0; rank < roster_.ranks(); ++rank) {
        if (board_.holds_up(rank, round)) blocked_by_ = rank;
      }
      return {.again_at = kNever};
    }
  }
  if (!here.everyone()) {
    if (const Duration open = grace(); open > 0ns) {
      const Time end = board_.open_since(round, now) + open.count();
      if (now < end) return {.again_at = end};
    }
  }
  return {.start = true, .last = following};
}

Time PartialExchange::help_agent(Time now) {
  if (board_.attempt().round <= board_.published()) return kNever;
  const AttemptWord attempt = board_.attempt();
  if (board_.help() == Reduction::Outcome::pending) return overcome_stall(attempt, now);
  agent_.call();  // The rest is its business.
  return kNever;
}

Time PartialExchange::progress(Time now) {
  const std::uint64_t published = board_.published();
  if (published > delivered_) return now;  // What we wait for is there: start nothing more.
  if (agent_) return help_agent(now);
  AttemptWord attempt = board_.attempt();
  if (attempt.round <= published) {
    // (Not `published + 1`: this rank may have settled rounds that nobody has published.)
    const Outlook next = outlook(delivered_ + 1, now);
    if (!next.start) return next.again_at;
    // The other is here since we looked: what both wait for is settled, and not run as well.
    if (firm_ && board_.met(delivered_ + 1)) return now;
    board_.catch_up();
    if (board_.start(delivered_ + 1, next.last)) {
      if (helpers_ > 0) board_.signal_helpers(helpers_);
    } else if (board_.attempt().round <= delivered_) {
      board_.set_blocked();
      return now + kShortly;
    }
    attempt = board_.attempt();
  }
  if (board_.help() != Reduction::Outcome::pending) return now;
  return overcome_stall(attempt, now);
}

Time PartialExchange::overcome_stall(AttemptWord attempt, Time now) {
  const Time end = stall_.patience_ends(attempt, now);
  if (now < end) return end;
  // Dead helpers' chunks are taken over at the next look; for a live one we start over.
  if (roster_.look_after()) {
    board_.signal();
  } else {
    board_.retry(attempt);
    stall_.lost_patience(now);
  }
  return now;
}

void PartialExchange::offer() {
  if (agent_) return agent_.call();
  const std::uint64_t over = std::max(board_.published(), delivered_);
  if (board_.attempt().round > over) return;
  const Outlook next = outlook(over + 1, host_.now());
  if (!board_.anybody_waits(over + 1)) return;
  if (next.start) {
    board_.catch_up();
    board_.start(over + 1, next.last);
    board_.signal();
  } else if (next.again_at != kNever) {
    board_.signal();  // Those who wait must now watch the end of the grace.
  }
}

bool PartialExchange::ready() {
  check_open();
  if (board_.published() > delivered_) return true;
  if (agent_) {
    agent_.check();
    board_.set_waiting(delivered_ + 1);  // The agent starts rounds only for who asks for them.
    agent_.call();
  }
  progress(host_.now());
  return board_.published() > delivered_;
}

std::uint64_t PartialExchange::await() {
  check_open();
  let_go(delivered_);
  const std::uint64_t next = delivered_ + 1;
  const bool settled = board_.settled(next);
  if (settled || board_.published() >= next) {
    if (waiting_) set_waiting(false);
    if (!settled) offer();
    awaited_round_ = 0;
    return deliver();
  }
  blocked_by_ = -1;
  const Time began = waiting_ ? arrived_at_ : host_.now();
  const Time deadline = began + timeout_.count();
  // If everybody is waited for, the last to arrive runs the round. The others leave the board
  // alone at first, as their looks would only get in its way, unless there was news since.
  bool look = !waiting_ || came_last_;
  Time now = began;  // Read again only where time has passed: the clock is dear.
  for (;;) {
    const std::uint64_t news = board_.event().read();
    if (board_.published() >= next) break;
    const board::Watched watched = firm_ ? board_.others_firm(next) : board::Watched{};
    if (firm_ && board_.settle(next)) break;
    // After the news: a round that starts from here on changes them.
    look = look || news != news_before_deposit_;
    // (Soon, as a rank that is stopped between its deposit and the counter may be the last.)
    const Time again_at = look ? progress(now) : now + kShortly;
    look = true;
    if (board_.published() >= next) break;
    if (now >= deadline) {
      if (firm_) board_.loosen(next);
      if (firm_ && board_.settle(next)) break;
      firm_ = false;
      set_waiting(false);
      give_up(next, Duration(now - began));
    }
    if (again_at <= now || !waiting_) {
      // Whoever deposits from now on starts the round for us; look once more for who just did.
      if (!waiting_) {
        set_waiting(true);
        agent_.call_and_wait();
      }
      now = host_.now();
      continue;
    }
    const Time until = std::min({again_at, deadline, now + kInspectionEvery});
    agent_.attend(board_.event(), news, until);
    now = lookout_.wait(board_.event(), news, until, watched);
    if (board_.event().read() == news) inspect(now);
  }
  set_waiting(false);
  roster_.note_wait(/*in_vain=*/false);
  awaited_round_ = next;
  waited_ = Duration(now - began);
  return deliver();
}

void PartialExchange::inspect(Time now) {
  if (now - inspected_at_ < kInspectionEvery) return;
  inspected_at_ = now;
  if (roster_.look_after()) {
    board_.signal();
    agent_.call();
  }
  agent_.check();
}

std::uint64_t PartialExchange::deliver() {
  const std::uint64_t first = delivered_ + 1;
  delivered_ = std::max(board_.published(), first);
  firm_ = false;
  if (options_.grace.share > 0) computing_since_ = host_.now();
  if (board_.is_last(delivered_)) {
    finished_ = true;
    closed_ = true;
  }
  return delivered_ + 1 - first;
}

const void* PartialExchange::values(std::uint64_t round) const {
  return board_.results().values(board_.buffer_of(round));
}

Receipt PartialExchange::receipt(std::uint64_t round) const {
  const int buffer = board_.buffer_of(round);
  const board::ResultHeader& header = board_.results().header(buffer);
  const int ranks = roster_.world_ranks();
  const int me = roster_.number();
  const auto to_set = [&](std::span<const std::uint64_t> bits) {
    RankSet set(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      if ((bits[rank / 64] >> (rank % 64) & 1) != 0) set.insert(rank);
    }
    return set;
  };
  Receipt receipt{.round = round,
                  .contributors = to_set(board_.results().contributors(buffer)),
                  .dropped = to_set(board_.results().reporters(buffer)),
                  .drops = header.dropped,
                  .staleness = header.staleness,
                  .weight = header.weight,
                  .last = header.last,
                  .dead = agent_.dead(roster_)};
  receipt.included = receipt.contributors.contains(me);
  if (round == awaited_round_ && waited_ > 0ns) {
    receipt.waited = waited_;
    receipt.waited_for = blocked_by_ >= 0 ? blocked_by_ : header.newest == me ? -1 : header.newest;
  }
  return receipt;
}

void PartialExchange::stop() {
  check_open();
  let_go(delivered_);
  if (stopped_) return;
  stopped_ = true;
  board_.set_standing(Standing::finishing);
  agent_.call();
}

void PartialExchange::leave() {
  check_open();
  let_go(delivered_);
  closed_ = true;
  board_.set_standing(Standing::left);
  agent_.call();
}

std::string PartialExchange::blame(std::uint64_t round) const {
  std::vector<int> missing;
  const AttemptWord attempt = board_.attempt();
  const auto add_if = [&](auto&& guilty) {
    for (int rank = 0; rank < roster_.ranks(); ++rank) {
      if (rank != roster_.rank() && guilty(rank)) missing.push_back(rank);
    }
  };
  std::string reason = " to arrive";
  if (attempt.round >= round) {
    reason = " to finish its part of the sum";
    add_if([&](int rank) { return board_.results().holds_chunk(attempt.buffer, rank); });
  }
  if (agent_ && missing.empty()) {
    return agent_.awaited(roster_) + " to arrive";
  }
  if (attempt.round < round && blocked_by_ >= 0) {
    reason = ", which lags behind by more than the window,";
    add_if([&](int rank) { return board_.holds_up(rank, round); });
  } else if (attempt.round < round && options_.trigger.kind == Trigger::Kind::majority) {
    add_if([&, drawn = round::draw(options_.trigger.seed, round, roster_.ranks(), [&](int rank) {
                 return board_.counts(rank);
               })](int rank) { return rank == drawn; });
  } else if (attempt.round < round) {
    add_if([&](int rank) { return board_.counts(rank) && !board_.has_deposit(rank); });
  }
  std::string names;
  for (const int rank : missing) names += (names.empty() ? "" : ", ") + roster_.describe(rank);
  return (names.empty() ? "any deposit" : names) + reason;
}

void PartialExchange::give_up(std::uint64_t round, Duration waited) {
  roster_.note_wait(/*in_vain=*/true);
  throw Error(ErrorCode::timeout,
              "rank " + std::to_string(roster_.number()) + " waited " + in_seconds(waited) +
                  " for " + blame(round) + " in round " + std::to_string(round),
              "Look at what these ranks do, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

}  // namespace syncopate::detail
