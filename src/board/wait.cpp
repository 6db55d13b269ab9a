#include "board/wait.h"

#include <algorithm>

#include "base/durations.h"
#include "board/interrupt.h"
#include "syncopate/error.h"

namespace syncopate::board {
Wait::Wait(Roster& roster, Platform& platform, const Duration& timeout, Attendant* agent)
    : roster_(roster),
      platform_(platform),
      timeout_(timeout),
      agent_(agent),
      look_after_every_(platform.look_after_every()),
      sharing_(roster, platform),
      lookout_(platform, roster.cores().oversubscribed(),
               roster.local_size() <= CoreSharing::kMostRanks ? &sharing_ : nullptr) {}

void Wait::give_up(Time now, const std::string& whom, const std::string& where,
                   const char* what_to_do) {
  note_wait(roster_, /*in_vain=*/true);
  if (interrupted_) {
    throw Error(ErrorCode::interrupted,
                "rank " + std::to_string(roster_.rank()) + " was told to stop waiting for " + whom +
                    " in " + where,
                "End the rank, or call again to go on waiting");
  }
  throw Error(ErrorCode::timeout,
              "rank " + std::to_string(roster_.rank()) + " waited " +
                  base::in_seconds(lasted(now)) + " for " + whom + " in " + where,
              what_to_do);
}

Time Wait::for_news(Event& event, std::uint64_t seen, Time now, Time until, Agent agent,
                    const Watched& watched) {
  until = std::min({until, deadline_, later(now, look_after_every_)});
  if (agent == Agent::driven && agent_ != nullptr) agent_->attend(event, seen, until);
  const Time woken = lookout_.wait(event, seen, until, watched);
  roster_.seat().check();
  if (event.read() == seen) look_after_others(event, woken);
  return woken;
}

void Wait::look_after_others(Event& event, Time now) {
  if (now < later(looked_at_, look_after_every_)) return;
  looked_at_ = now;
  // As if its time were up: a caller lets go of what it has promised the others while it waits.
  if (interrupted()) {
    interrupted_ = true;
    deadline_ = now;
  }
  const bool death = roster_.look_after();
  if (death) event.signal(platform_);
  if (agent_ == nullptr) return;
  if (death) agent_->call();
  agent_->check();
}

int helpers_to_wake(const Roster& roster, int chunks) {
  return std::min({roster.local_size() - 1, chunks - 1, 2 * roster.cores().count()});
}

Time Stall::patience_ends(AttemptWord attempt, Time now) {
  if (attempt_.round != attempt.round) patience_ = kPatience;
  if (attempt_.pack() != attempt.pack()) since_ = now;
  attempt_ = attempt;
  return since_ + patience_;
}

}  // namespace syncopate::board
