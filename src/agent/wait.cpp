#include "agent/wait.h"

#include <algorithm>

#include "base/durations.h"
#include "syncopate/error.h"

namespace syncopate::world {
namespace {

/// How often a rank that waits asks the kernel whether the others live.
constexpr Time kLookAfterEvery = 20'000'000;

}  // namespace

Wait::Wait(board::Roster& roster, board::Platform& platform, const Duration& timeout,
           detail::AgentHandle agent)
    : roster_(roster),
      platform_(platform),
      timeout_(timeout),
      agent_(agent),
      lookout_(platform, roster.oversubscribed()) {}

void Wait::give_up(Time now, const std::string& whom, const std::string& where) {
  roster_.note_wait(/*in_vain=*/true);
  throw Error(ErrorCode::timeout,
              "rank " + std::to_string(roster_.rank()) + " waited " +
                  detail::in_seconds(lasted(now)) + " for " + whom + " in " + where,
              "Look at what these ranks do, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

Time Wait::for_news(board::Event& event, std::uint64_t seen, Time now, Time until, Agent agent,
                    const board::Watched& watched) {
  until = std::min({until, deadline_, now + kLookAfterEvery});
  if (agent == Agent::driven) agent_.attend(event, seen, until);
  const Time woken = lookout_.wait(event, seen, until, watched);
  roster_.check_seat();
  if (event.read() == seen) look_after_others(event, woken);
  return woken;
}

void Wait::look_after_others(board::Event& event, Time now) {
  if (now - looked_at_ < kLookAfterEvery) return;
  looked_at_ = now;
  if (roster_.look_after()) {
    event.signal(platform_);
    agent_.call();
  }
  agent_.check();
}

int helpers_to_wake(const board::Roster& roster, int chunks) {
  return std::min({roster.local_size() - 1, chunks - 1, 2 * roster.cores()});
}

Time Stall::patience_ends(board::AttemptWord attempt, Time now) {
  if (attempt_.round != attempt.round) patience_ = kPatience;
  if (attempt_.pack() != attempt.pack()) since_ = now;
  attempt_ = attempt;
  return since_ + patience_;
}

}  // namespace syncopate::world
