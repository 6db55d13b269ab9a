// How long a rank that waits is patient, and what it does when it is no longer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "board/host.h"
#include "board/roster.h"
#include "board/words.h"

namespace syncopate::detail {

/// How often a rank that waits asks the kernel whether the others live.
inline constexpr board::Time kInspectionEvery = 20'000'000;
/// How long a helper may sit on a chunk before the others start over without it. A rank that
/// was only preempted comes back within a few time slices.
#if defined(__SANITIZE_THREAD__)
/// A helper that was given up on may read slots while their owners write them again; what it
/// makes of them is thrown away. The sanitizer cannot know that, and makes everybody slow.
inline constexpr board::Time kPatience = 60'000'000'000;
#else
inline constexpr board::Time kPatience = 50'000'000;
#endif
/// How soon to look again when a round could not start for lack of a buffer.
inline constexpr board::Time kShortly = 1'000'000;

/// How many sleepers are worth waking to help with a round of `chunks` chunks. Twice the cores,
/// because a sleeper often wakes up on the core of who woke it.
inline int helpers_to_wake(const board::Roster& roster, int chunks) {
  return std::min({roster.ranks() - 1, chunks - 1, 2 * roster.cores()});
}

/// Notices when an attempt at a round stays unfinished for too long. Each new attempt at the
/// same round gets twice the time, so that on a machine where everything is slow one succeeds.
class StallWatch {
 public:
  /// When patience with `attempt` ends, counted from the first time it was seen stalled.
  board::Time patience_ends(board::AttemptWord attempt, board::Time now) {
    if (attempt_.round != attempt.round) patience_ = kPatience;
    if (attempt_.pack() != attempt.pack()) since_ = now;
    attempt_ = attempt;
    return since_ + patience_;
  }
  void lost_patience(board::Time now) {
    patience_ *= 2;
    since_ = now;
  }

 private:
  board::AttemptWord attempt_;
  board::Time since_ = 0;
  board::Time patience_ = kPatience;
};

}  // namespace syncopate::detail
