#include "group/exchange.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/bits.h"
#include "base/check.h"
#include "syncopate/error.h"

namespace syncopate::group {

using namespace std::chrono_literals;

Exchange::Exchange(board::Roster& roster, board::Platform& platform, const Duration& timeout,
                   std::byte* memory, const Shape& shape, const void* initial,
                   const GroupOptions& options, std::shared_ptr<void> kept,
                   agent::AgentHandle agent)
    : kept_(std::move(kept)),
      roster_(roster),
      platform_(platform),
      board_(memory, shape, roster, platform),
      membership_(roster, options),
      runner_(choose_runner(options, agent)),
      merger_(board_, options.late, initial),
      wait_(roster, platform, timeout, agent),
      measures_steps_(options.grace.share > 0),
      computing_since_(platform.now()) {
  // What a group uses for this rank until it publishes; and the same to work on.
  constexpr int kInitial = 1;
  for (const int slot : {working_, kInitial}) {
    if (shape.elements == 0) continue;
    std::memcpy(board_.publications.values(slot), initial, shape.vector_bytes());
  }
  board_.publications.publish(kInitial, 0);
}

Exchange::AnyRunner Exchange::choose_runner(const GroupOptions& options, agent::AgentHandle agent) {
  if (agent) return AgentRunner(board_, membership_, options, roster_, platform_, agent);
  return LocalRunner(board_, membership_, options, roster_, platform_);
}

Exchange::~Exchange() {
  if (state_ == State::closed || !roster_.seat().may_speak()) return;
  board_.leave();
  with_runner([](auto& runner) { runner.notify(); });
}

void Exchange::check_open() const {
  roster_.seat().check();
  if (state_ != State::closed) return;
  throw Error(ErrorCode::closed, "this group average was used after leave()",
              "Make a new one to go on");
}

void* Exchange::weights() {
  check_open();
  if (state_ == State::published) {
    // After a lost machine nothing else is worth saying.
    with_runner([](auto& runner) { runner.check(); });
    throw Error(ErrorCode::invalid_argument,
                "the weights were asked for between start() and wait()", "Call wait() first");
  }
  return board_.publications.values(working_);
}

void Exchange::publish() {
  weights();
  with_runner([](auto& runner) { runner.check(); });
  if (measures_steps_) {
    step_times_.add(Duration(platform_.now() - computing_since_));
    board_.participants.note_step_time(step_times_.typical());
  }
  SYNCOPATE_CHECK(
      !board_.publications.is_confirmed(
          working_, group_.step, [&](RoundNumber step) { return membership_.group_at(step); }),
      "publications.h 3: no round reads what this rank wrote to");
  group_ = membership_.at(group_.step + 1);
  board_.publications.publish(working_, group_.step);
  state_ = State::published;
  board_.rounds.signal(group_.here());
  with_runner([&](auto& runner) { runner.begin(group_); });
}

bool Exchange::ready() {
  check_open();
  if (state_ != State::published) return false;
  if (has_result()) return true;
  with_runner([&](auto& runner) {
    runner.begin_wait(group_);
    runner.advance(group_, platform_.now());
  });
  return has_result();
}

template <typename Runner, typename Done, typename Advance>
Exchange::Waited Exchange::await(Runner& runner, const Done& done, const Advance& advance) {
  Waited waited;
  Time now = platform_.now();
  wait_.begin(now);
  board::Event& round_event = board_.rounds.event(group_.here());
  board::Event& release_event = board_.window.event();
  for (;;) {
    const std::uint64_t news = round_event.read();
    const std::uint64_t releases = release_event.read();
    const Outlook outlook = advance(now);
    if (done()) break;
    if (wait_.expired(now)) {
      wait_.give_up(now, runner.blame(group_),
                    "step " + std::to_string(group_.step) + " of a group average");
    }
    if (outlook.again_at <= now) {
      now = platform_.now();
      continue;
    }
    waited.rank = runner.awaited(group_);
    now = wait_.for_news(outlook.releases ? release_event : round_event,
                         outlook.releases ? releases : news, now, outlook.again_at,
                         runner.agent(group_));
  }
  waited.lasted = wait_.lasted(now);
  return waited;
}

template <typename Runner>
Exchange::Waited Exchange::await_result(Runner& runner) {
  if (has_result()) return {};
  runner.begin_wait(group_);
  const Waited waited = await(
      runner, [&] { return has_result(); }, [&](Time now) { return runner.advance(group_, now); });
  wait_.succeed();
  return waited;
}

int Exchange::free_slot() const {
  return board_.publications.free_slot(
      group_.step, [&](RoundNumber step) { return membership_.group_at(step); });
}

template <typename Runner>
int Exchange::await_free_slot(Runner& runner) {
  int slot = free_slot();
  if (slot != kNoSlot) return slot;
  await(
      runner, [&] { return (slot = free_slot()) != kNoSlot; },
      [&](Time now) { return runner.free_slots(group_, now); });
  return slot;
}

GroupReceipt Exchange::finish(void* out) {
  check_open();
  if (state_ != State::published) {
    throw Error(ErrorCode::invalid_argument, "wait() without a start()", "Call start() first");
  }
  const Waited waited = with_runner([&](auto& runner) { return await_result(runner); });
  const int buffer = board_.results.buffer_of(group_.here());
  const int slot = with_runner([&](auto& runner) { return await_free_slot(runner); });
  merger_.merge(group_.step, buffer, out != nullptr ? out : board_.publications.values(slot));
  roster_.seat().check();  // Or others may have written over what was merged.
  GroupReceipt told = receipt(buffer, waited);
  working_ = slot;
  state_ = State::computing;
  if (board_.window.release_through(group_.step)) {
    with_runner([](auto& runner) { runner.notify(); });
  }
  if (measures_steps_) computing_since_ = platform_.now();
  return told;
}

GroupReceipt Exchange::receipt(int buffer, const Waited& waited) {
  RankSet members(roster_.world_size());
  const std::span<const std::uint64_t> contributors = board_.results.buffers().contributors(buffer);
  for (int rank = 0; rank < roster_.world_size(); ++rank) {
    if (bits::contains(contributors, rank)) members.insert(rank);
  }
  const int lag = board_.publications.own_lag(group_.step);
  return {.step = group_.step,
          .members = std::move(members),
          .included = lag == 0,
          .own_staleness = std::uint64_t(std::max(0, lag)),
          .everyone = group_.everyone,
          .staleness = board_.results.buffers().header(buffer).staleness,
          .waited = waited.lasted,
          .waited_for = waited.lasted > 0ns ? waited.rank : -1,
          .dead = with_runner([](auto& runner) { return runner.dead(); })};
}

void Exchange::leave() {
  check_open();
  state_ = State::closed;
  board_.leave();
  with_runner([](auto& runner) { runner.notify(); });
}

}  // namespace syncopate::group
