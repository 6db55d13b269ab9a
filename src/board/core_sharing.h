// Keeps ranks that wait for each other from sharing a core while another has none of them. The
// kernel may put two ranks on one core and a stranger's busy process on the next: to it that is
// balanced. Then each round takes two changes between processes, for as long as the neighbor stays.
//
// A rank that has waited for a while says on which core it is. If another rank was last seen there,
// it moves to a core without ranks, where it shares with the neighbor instead. The kernel may move
// it back; so the time between two moves grows while they do not last.
//
// This is for two ranks. Of many, several would share with neighbors, and a round would wait until
// all of them run at once: there it is better that ranks sleep, as those that have used little of a
// core get it as soon as they wake up.
#pragma once

#include "board/platform.h"
#include "board/roster.h"

namespace syncopate::board {

class CoreSharing {
 public:
  CoreSharing(const Roster& roster, Platform& platform) : roster_(roster), platform_(platform) {}

  /// Looks where this rank is, at `now`. If it has the core to itself, as far as ranks go, returns
  /// `now`. Otherwise it moves, or offers the core if it has moved lately or has nowhere to go;
  /// returns the time then.
  Time resolve(Time now);

  static constexpr int kMostRanks = 2;
  static constexpr Time kShortestRest = 200'000;
  static constexpr Time kLongestRest = 50'000'000;

 private:
  /// Notes the core on which this rank waits; returns whether another rank was last seen there.
  bool shared(int core) const;
  /// Cores that this rank may use and on which no other was last seen.
  Cores::Mask without_ranks() const;

  const Roster& roster_;
  Platform& platform_;
  Time moved_at_ = 0;
  Time rest_ = 0;  ///< For so long after a move there is no other.
};

}  // namespace syncopate::board
