// The one way to wait in the library: for news of an event, with a deadline that names whom the
// rank waited for. While nothing happens the rank looks for a moment and then sleeps; now and then
// it asks the kernel whether the others live, and the agent whether it has failed.
#pragma once

#include <string>

#include "board/core_sharing.h"
#include "board/event.h"
#include "board/platform.h"
#include "board/roster.h"
#include "board/words.h"
#include "syncopate/policy.h"

namespace syncopate::board {

/// How soon to look again when a round could not start for lack of a buffer.
inline constexpr Time kShortly = 1'000'000;

/// What a rank that waits has to do with the agent of its machine, where there are several
/// machines. The agent's side implements it (agent/rank_mailbox.h).
class Attendant {
 public:
  virtual ~Attendant() = default;
  /// Does the agent's work if it is in this process: until there is news after `seen`, or nothing
  /// more to do for now, but not past `until`.
  virtual void attend(const Event& event, std::uint64_t seen, Time until) = 0;
  /// There is something for the agent to look at.
  virtual void call() = 0;
  /// Throws if the agent has failed, or is dead.
  virtual void check() const = 0;
};

/// A rank's waits, one after the other.
class Wait {
 public:
  /// `timeout` may change between two waits. `agent` is null where there is none.
  Wait(Roster& roster, Platform& platform, const Duration& timeout, Attendant* agent);

  /// From here on the deadline counts.
  void begin(Time now) {
    began_ = now;
    deadline_ = now + timeout_.count();
    interrupted_ = false;
  }
  bool expired(Time now) const { return now >= deadline_; }
  Duration lasted(Time now) const { return Duration(now - began_); }
  /// Throws if the agent, on which the wait depends, has failed or is dead.
  void check_agent() const {
    if (agent_ != nullptr) agent_->check();
  }
  /// What was waited for has come.
  void succeed() { note_wait(roster_, /*in_vain=*/false); }
  /// The deadline has passed: throws Error(timeout) that says "rank 3 waited 5 s for WHOM in
  /// WHERE", and what to do. Where the program has ended the wait, Error(interrupted).
  [[noreturn]] void give_up(Time now, const std::string& whom, const std::string& where,
                            const char* what_to_do = kLookAtThem);

  static constexpr const char* kLookAtThem =
      "Look at what these ranks do, or allow more time (SYNCOPATE_TIMEOUT, in seconds)";

  enum class Agent : bool {
    left_alone,  // it has nothing to do with what is waited for
    driven,      // if it is in this process, its work is done here meanwhile
  };
  /// Returns with news after `seen`, at `until`, or now and then in between; it is `now`. Returns
  /// the time. Throws what the agent has failed of, and if the others take this rank for dead.
  Time for_news(Event& event, std::uint64_t seen, Time now, Time until, Agent agent,
                const Watched& watched = {});

 private:
  void look_after_others(Event& event, Time now);

  Roster& roster_;
  Platform& platform_;
  const Duration& timeout_;
  Attendant* agent_;
  const Time look_after_every_;  ///< As the platform says: asked once, and not in every wait.
  CoreSharing sharing_;
  Lookout lookout_;
  Time began_ = 0;
  Time deadline_ = 0;
  bool interrupted_ = false;
  Time looked_at_ = 0;  ///< When the others were last looked after.
};

/// How many sleepers are worth waking to help with a round of `chunks` chunks. Twice the cores,
/// because a sleeper often wakes up on the core of the rank that woke it.
int helpers_to_wake(const Roster& roster, int chunks);

/// Notices when an attempt at a round stays unfinished for too long, as a helper was stopped or
/// died in the middle of a chunk. Each new attempt at the same round gets twice the time, so that
/// on a slow machine one succeeds.
class Stall {
 public:
  Stall(Roster& roster, Platform& platform) : roster_(roster), platform_(platform) {}

  /// Returns when to look again. When patience with `attempt` has ended: a dead helper's chunks are
  /// taken over at the next look, which the sleepers on `event` are told; for a live one `retry`
  /// starts over.
  template <typename Retry>
  Time overcome(AttemptWord attempt, Time now, Event& event, const Retry& retry) {
    if (const Time end = patience_ends(attempt, now); now < end) return end;
    if (roster_.look_after()) {
      event.signal(platform_);
    } else {
      retry();
      patience_ *= 2;
      since_ = now;
    }
    return now;
  }

 private:
  /// Counted from the first time that the attempt was seen stalled.
  Time patience_ends(AttemptWord attempt, Time now);

  Roster& roster_;
  Platform& platform_;
  AttemptWord attempt_;
  Time since_ = 0;
  Time patience_ = 0;
};

/// How long a helper may sit on a chunk before the others start over without it. A rank that was
/// only preempted comes back within a few time slices.
#if defined(__SANITIZE_THREAD__)
/// A helper that was given up on may read slots while their owners write them again; what it makes
/// of them is thrown away. The sanitizer cannot know that, and makes everything slow.
inline constexpr Time kPatience = 60'000'000'000;
#else
inline constexpr Time kPatience = 50'000'000;
#endif

}  // namespace syncopate::board
