#include "group/exchange.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernel/kernel.h"
#include "syncopate/error.h"

namespace syncopate::detail {
namespace {

using namespace std::chrono_literals;
using board::kNever;
using board::Reduction;
using board::Time;

}  // namespace

board::GroupShape GroupExchange::shape(std::size_t elements, DataType type,
                                       const board::Roster& roster, const GroupOptions& options) {
  board::GroupShape result = shape(elements, type, roster.world_size(), options);
  result.ranks = roster.local_size();
  return result;
}

board::GroupShape GroupExchange::shape(std::size_t elements, DataType type, int ranks,
                                       const GroupOptions& options) {
  return {.elements = elements,
          .type = type,
          .ranks = ranks,
          .world_ranks = ranks,
          .groups = std::max(1, ranks / options.group_size),
          .window = options.window};
}

GroupExchange::GroupExchange(board::Roster& roster, board::Platform& platform,
                             const Duration& timeout, std::byte* memory, std::size_t elements,
                             DataType type, const void* initial, const GroupOptions& options,
                             std::shared_ptr<void> kept, AgentHandle agent)
    : kept_(std::move(kept)),
      roster_(roster),
      platform_(platform),
      options_(options),
      elements_(elements),
      type_(type),
      plan_(roster.world_size(), options),
      board_(memory, shape(elements, type, roster, options), roster, platform),
      wait_(roster, platform, timeout, agent),
      helpers_(board::helpers_to_wake(roster, board_.results().chunking().count)),
      agent_(agent),
      seat_of_(roster.world_size(), -1),
      stall_(roster, platform),
      computing_since_(platform.now()) {
  for (int rank = 0; rank < roster.local_size(); ++rank) seat_of_[roster.rank_of(rank)] = rank;
  // What a group uses for this rank until it publishes; and the same to work on.
  constexpr int kInitial = 1;
  for (const int slot : {working_, kInitial}) {
    if (elements > 0) std::memcpy(board_.slot(slot), initial, elements * size_of(type));
  }
  board_.publish(kInitial, 0);
  if (options.late == LateMerge::keep) {
    origin_.resize(elements * size_of(type));
    if (elements > 0) std::memcpy(origin_.data(), initial, origin_.size());
  }
}

GroupExchange::~GroupExchange() {
  if (closed_ || !roster_.may_speak()) return;
  board_.leave();
  agent_.call();
}

void GroupExchange::wait_for_agent() {
  if (!spanning_) return;
  agent_.check();
  board_.set_waiting(where_.step);
  agent_.call();
}

void GroupExchange::check_open() const {
  roster_.check_seat();
  if (!closed_) return;
  throw Error(ErrorCode::closed, "this group average was used after leave()",
              "Make a new one to go on");
}

std::vector<int> GroupExchange::members_at(std::uint64_t step) const {
  std::vector<int> members;
  for (const int number : plan_.members_at(step, roster_.rank())) {
    if (seat_of_[number] >= 0) members.push_back(seat_of_[number]);
  }
  return members;
}

bool GroupExchange::spans_machines(std::uint64_t step) const {
  if (!agent_) return false;
  const std::vector<int> members = plan_.members_at(step, roster_.rank());
  return std::any_of(members.begin(), members.end(),
                     [&](int number) { return seat_of_[number] < 0; });
}

void* GroupExchange::weights() {
  check_open();
  if (published_) {
    agent_.check();  // After a lost machine nothing else is worth saying.
    throw Error(ErrorCode::invalid_argument,
                "the weights were asked for between start() and wait()", "Call wait() first");
  }
  return board_.slot(working_);
}

void GroupExchange::publish() {
  weights();
  agent_.check();
  const std::uint64_t step = step_ + 1;
  if (options_.grace.share > 0) {
    step_times_.add(Duration(platform_.now() - computing_since_));
    board_.note_step_time(step_times_.typical());
  }
  members_ = members_at(step);
  spanning_ = spans_machines(step);
  where_ = {.step = step, .group = group_at(step), .members = members_};
  board_.publish(working_, step);
  published_ = true;
  blocked_ = false;
  board_.event(where_).signal(platform_);
  agent_.call();
}

bool GroupExchange::all_members_here() const {
  return std::all_of(members_.begin(), members_.end(), [&](int rank) {
    return !board_.counts(rank) || board_.published_step(rank) >= where_.step;
  });
}

Duration GroupExchange::grace() const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  return Duration(std::llround(double(step_times_.typical().count()) * options_.grace.share));
}

Time GroupExchange::progress(Time now) {
  blocked_ = false;  // Another may have started the round that the window held up before.
  if (spanning_) return kNever;  // The agent runs it.
  if (board_.attempt(where_).round < where_.step) {
    if (!board_.window_allows(where_.step)) {
      board_.set_blocked();
      blocked_ = !board_.window_allows(where_.step);
      if (blocked_) {
        agent_.call();  // The one that lags may be elsewhere.
        return kNever;
      }
    }
    if (!all_members_here()) {
      if (everyone_at(where_.step) || options_.trigger.kind == Trigger::Kind::all) return kNever;
      const Duration open = grace();
      const Time end = open > 0ns ? board_.open_since(where_, now) + open.count() : now;
      if (now < end) return end;
    }
    if (board_.start(where_)) {
      if (helpers_ > 0) board_.event(where_).signal(platform_, helpers_);
    } else if (board_.attempt(where_).round < where_.step) {
      board_.set_blocked();
      blocked_ = true;
      return now + board::kShortly;
    }
  }
  if (board_.help(where_) != Reduction::Outcome::pending) return now;
  return overcome_stall(now);
}

Time GroupExchange::overcome_stall(Time now) {
  const board::AttemptWord attempt = board_.attempt(where_);
  return stall_.overcome(attempt, now, board_.event(where_),
                         [&] { board_.retry(where_, attempt); });
}

bool GroupExchange::ready() {
  check_open();
  if (!published_) return false;
  if (board_.result(where_) < 0) {
    wait_for_agent();
    progress(platform_.now());
  }
  return board_.result(where_) >= 0;
}

void GroupExchange::pause(board::Event& event, std::uint64_t news, Time until) {
  const Time now = platform_.now();
  if (wait_.expired(now)) {
    wait_.give_up(now, blame(), "step " + std::to_string(where_.step) + " of a group average");
  }
  const bool agent_helps = spanning_ || blocked_;
  wait_.for_news(event, news, now, until,
                 agent_helps ? board::Wait::Agent::driven : board::Wait::Agent::left_alone);
}

void GroupExchange::await_result() {
  waited_ = 0ns;
  waited_for_ = -1;
  if (board_.result(where_) >= 0) return;
  wait_for_agent();
  Time now = platform_.now();
  wait_.begin(now);
  for (; board_.result(where_) < 0; now = platform_.now()) {
    const std::uint64_t news = board_.event(where_).read();
    const std::uint64_t releases = board_.progress_event().read();
    const Time again_at = progress(now);
    if (board_.result(where_) >= 0) break;
    if (again_at <= now && !wait_.expired(now)) continue;
    waited_for_ = whom_we_wait_for();
    if (blocked_) {
      pause(board_.progress_event(), releases, again_at);
    } else {
      pause(board_.event(where_), news, again_at);
    }
  }
  wait_.succeed();
  waited_ = wait_.lasted(now);
}

bool GroupExchange::awaits(int rank) const {
  if (!board_.counts(rank)) return false;
  if (blocked_) return board_.seen(rank) + options_.window < where_.step;
  return std::binary_search(members_.begin(), members_.end(), rank) &&
         board_.published_step(rank) < where_.step;
}

int GroupExchange::whom_we_wait_for() const {
  int found = -1;
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (awaits(rank)) found = roster_.rank_of(rank);
  }
  return found;
}

int GroupExchange::await_free_slot() {
  const Time began = platform_.now();
  wait_.begin(began);
  Time patience = board::kPatience;
  Time patience_ends = began + patience;
  for (;;) {
    const std::uint64_t releases = board_.progress_event().read();
    const int slot =
        board_.free_slot(where_.step, [&](std::uint64_t step) { return group_at(step); });
    if (slot >= 0) return slot;
    // Every other slot is being read by ranks that are ahead: finish their rounds for them.
    const bool impatient = platform_.now() >= patience_ends;
    for (std::uint64_t step = where_.step + 1; step <= where_.step + options_.window; ++step) {
      if (spans_machines(step)) continue;
      const std::vector<int> members = members_at(step);
      const board::LocalGroup ahead{.step = step, .group = group_at(step), .members = members};
      if (board_.help(ahead) != Reduction::Outcome::pending || !impatient) continue;
      // Whoever sits on a chunk of it is dead or stopped.
      if (!roster_.look_after()) board_.retry(ahead, board_.attempt(ahead));
      board_.help(ahead);
    }
    if (impatient) patience_ends = platform_.now() + (patience *= 2);
    pause(board_.progress_event(), releases, platform_.now() + board::kShortly);
  }
}

GroupReceipt GroupExchange::finish(void* out) {
  check_open();
  if (!published_) {
    throw Error(ErrorCode::invalid_argument, "wait() without a start()", "Call start() first");
  }
  await_result();
  const int buffer = board_.result(where_);
  const int slot = await_free_slot();
  merge(out != nullptr ? out : board_.slot(slot), buffer);
  roster_.check_seat();  // Or others may have written over what was merged.
  GroupReceipt told = receipt(buffer);
  working_ = slot;
  step_ = where_.step;
  published_ = false;
  if (board_.release_through(step_)) agent_.call();
  computing_since_ = platform_.now();
  return told;
}

void GroupExchange::merge(void* out, int buffer) {
  if (options_.late == LateMerge::keep) keep_step();
  if (board_.own_lag(where_.step) == 0) {
    const board::Term mean{.values = board_.results().values(buffer), .weight = 1};
    board::weighted_sum(type_, elements_, {&mean, 1}, 1, out);
  } else {
    merge_late(out, buffer);
  }
  if (!origin_.empty()) std::memcpy(origin_.data(), out, origin_.size());
}

void GroupExchange::merge_late(void* out, int buffer) {
  const int lag = board_.own_lag(where_.step);
  const void* mean = board_.results().values(buffer);
  const void* mine = board_.slot(board_.published_slot(roster_.local_rank()));
  if (options_.late == LateMerge::average) {
    const double members = board_.results().header(buffer).weight;
    const std::array<board::Term, 2> terms{board::Term{.values = mean, .weight = members},
                                           board::Term{.values = mine, .weight = 1}};
    return board::weighted_sum(type_, elements_, terms, 1 / (members + 1), out);
  }
  std::vector<board::Term> terms{{.values = mean, .weight = 1},
                                 {.values = mine, .weight = 1},
                                 {.values = origin_.data(), .weight = -1}};
  const std::uint64_t copy = where_.step - std::uint64_t(lag);
  for (const Taken& taken : unseen_) {
    if (taken.step <= copy || taken.step == where_.step) continue;
    terms.push_back({.values = taken.movement.data(), .weight = 1});
  }
  board::weighted_sum(type_, elements_, terms, 1, out);
}

void GroupExchange::keep_step() {
  // A round takes the newest weights it finds, and ours of this step are on the board: no round
  // will have older ones from now on that has not already.
  const auto oldest = board_.oldest_copy_ahead();
  if (oldest && *oldest < where_.step) {
    const std::array<board::Term, 2> terms{
        board::Term{.values = board_.slot(board_.published_slot(roster_.local_rank())),
                    .weight = 1},
        board::Term{.values = origin_.data(), .weight = -1}};
    unseen_.push_back({where_.step, std::vector<std::byte>(origin_.size())});
    board::weighted_sum(type_, elements_, terms, 1, unseen_.back().movement.data());
  }
  // This round may still want those after its own copy of our weights.
  const int lag = board_.own_lag(where_.step);
  const std::uint64_t seen =
      std::min(oldest.value_or(where_.step), where_.step - std::uint64_t(std::max(lag, 0)));
  while (!unseen_.empty() && unseen_.front().step <= seen) unseen_.pop_front();
}

GroupReceipt GroupExchange::receipt(int buffer) const {
  RankSet members(roster_.world_size());
  const std::span<const std::uint64_t> bits = board_.results().contributors(buffer);
  for (int rank = 0; rank < roster_.world_size(); ++rank) {
    if ((bits[rank / 64] >> (rank % 64) & 1) != 0) members.insert(rank);
  }
  return {.step = where_.step,
          .members = std::move(members),
          .included = board_.own_lag(where_.step) == 0,
          .own_staleness = std::uint64_t(std::max(0, board_.own_lag(where_.step))),
          .everyone = everyone_at(where_.step),
          .staleness = board_.results().header(buffer).staleness,
          .waited = waited_,
          .waited_for = waited_ > 0ns ? waited_for_ : -1,
          .dead = agent_.dead(roster_)};
}

void GroupExchange::leave() {
  check_open();
  closed_ = true;
  board_.leave();
  agent_.call();
}

bool GroupExchange::holds_up(int rank) const {
  const auto holds_chunk = [&](const board::LocalGroup& where) {
    const board::AttemptWord attempt = board_.attempt(where);
    return attempt.round == where.step && board_.results().holds_chunk(attempt.buffer, rank);
  };
  if (board_.result(where_) < 0) return awaits(rank) || (!blocked_ && holds_chunk(where_));
  // Our round is done; what we lack is a slot that no round of those ahead of us reads.
  for (std::uint64_t step = where_.step + 1; step <= where_.step + options_.window; ++step) {
    if (holds_chunk({.step = step, .group = group_at(step)})) return true;
  }
  return false;
}

std::string GroupExchange::blame() const {
  if (agent_ && board_.result(where_) < 0 && (spanning_ || blocked_)) {
    return agent_.awaited(roster_);
  }
  const auto names_of = [&](auto&& guilty) {
    std::string names;
    for (int rank = 0; rank < roster_.local_size(); ++rank) {
      if (rank == roster_.local_rank() || !guilty(rank)) continue;
      names += (names.empty() ? "" : ", ") + roster_.describe(rank);
    }
    return names;
  };
  std::string names = names_of([&](int rank) { return holds_up(rank); });
  // Whoever it was has just moved on: it was one of these.
  if (names.empty()) names = names_of([&](int rank) { return board_.counts(rank); });
  return names;
}

}  // namespace syncopate::detail
