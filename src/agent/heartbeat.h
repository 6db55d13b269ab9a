// While a rank waits, other machines have to give signs of life now and then: whom an agent asks
// for them, when, and when it gives a machine up that gives none. Has neither a thread nor a clock.
//
// An agent watches all others where they are few, and otherwise kMostWatched: some that follow it
// by their numbers, so that each machine is watched by as many, and some of those that its ranks
// are known to wait for. So all machines together ask 8 M times a second at most. A machine that
// notices a loss tells all.
#pragma once

#include <vector>

#include "board/platform.h"

namespace syncopate::agent {

class Heartbeat {
 public:
  using Time = board::Time;

  enum class Ask {
    no,
    first,  // since somebody waits: nothing was expected of the others before
    again,
  };
  static constexpr int kMostWatched = 8;
  /// Which of so many machines `machine` watches, in increasing order, where its ranks wait for
  /// `awaited`, in increasing order.
  static std::vector<int> whom_to_watch(int machine, int machines, const std::vector<int>& awaited);

  /// Whether it is time to ask, where somebody waits since then and for up to `timeout`. If so,
  /// they are taken to be asked.
  Ask ask(Time now, Time urgent_since, Time timeout);
  /// Whether the others have been asked since then.
  bool asked_since(Time time) const { return asked_at_ >= time; }

  /// Whether a machine that is silent for so long should have answered.
  static bool overdue(Time silent_for, Time timeout);
  /// Whether it is not waited for any longer.
  static bool lost(Time silent_for, Time timeout);

 private:
  Time asked_at_ = 0;
};

}  // namespace syncopate::agent
