// How an agent rests: how long it goes on looking for messages once something has happened, and how
// long it sleeps between looks from then on. It is told what happens and what time it is, and has
// neither a thread nor a clock.
#pragma once

#include <cstdint>

#include "board/platform.h"
#include "board/roster.h"

namespace syncopate::agent {

/// How much room there is on the cores of a machine.
struct CpuBudget {
  int ranks = 1;
  int cores = 1;
  bool crowded = false;  ///< Others need the cores so much that to yield takes long.

  static CpuBudget of(const board::Roster& roster, const board::Platform& platform,
                      board::Time now) {
    return {.ranks = roster.local_size(),
            .cores = roster.cores().count(),
            .crowded = platform.crowded(now)};
  }

  bool oversubscribed(int threads) const { return threads > cores; }
  /// Whether looks of the agent take time of the only rank.
  bool on_ranks_core() const { return ranks == 1 && (crowded || oversubscribed(2)); }
};

class PollingPolicy {
 public:
  using Time = board::Time;

  /// How long an agent looks without sleeping, after something has happened and while a rank
  /// waits.
  static constexpr Time kAwakeOnFreeCores = 5'000'000;
  static constexpr Time kAwakeOversubscribed = 100'000;

  /// What the agent has to do, after a look at everything.
  struct Work {
    bool urgent = false;      ///< A rank may be waiting for what comes next.
    bool moving = false;      ///< Data are on their way, which move only while the agent looks.
    std::uint64_t moves = 0;  ///< Changes as they move.
  };

  void note_news(Time now) { active_at_ = now; }
  /// Another machine has rung: what it was about may come a moment later, so that the next nap is
  /// short.
  void note_ring() { nap_ = kShortestNap / 2; }
  /// Whether anything has moved.
  bool note_work(Time now, const Work& work);
  /// It did not sleep after this look: the next nap is the first.
  void note_awake() { napped_since_ = 0; }

  /// When something last happened.
  Time active_at() const { return active_at_; }
  /// Since when a rank may be waiting; kNever if none is.
  Time urgent_since() const { return urgent_since_; }

  /// Whether it is too early to sleep, where so many threads want a core.
  bool awake(Time now, const CpuBudget& room, int threads) const;
  /// How long to sleep if no rank calls, where the next look should be at `again_at`.
  /// `others_ring`: any machine that has something for this one rings.
  Time nap(Time now, Time again_at, const CpuBudget& room, bool others_ring);
  /// The same where the agent is woken when something comes. Some of what is under way waits for
  /// ranks of this machine, which do not tell.
  Time nap_under_watch(Time now, Time again_at);
  /// How long that lasts in the beginning, at most.
  static constexpr Time kUnderWatch = 500'000;
  /// How long to leave the work to a rank before asking again whether the rank still does it.
  static Time while_driven(const CpuBudget& room);

 private:
  static constexpr Time kShortestNap = 50'000;

  Time active_at_ = 0;
  Time urgent_since_ = board::kNever;
  bool moving_ = false;
  std::uint64_t moves_ = 0;
  Time moved_at_ = 0;
  Time nap_ = kShortestNap;  ///< The length of the last one …
  Time napped_since_ = 0;    ///< … and what happened before the first of them.
};

}  // namespace syncopate::agent
