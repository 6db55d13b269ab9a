// While somebody waits, the other machines have to give signs of life now and then: when an agent
// asks them for one, and when it gives a machine up that gives none. Has neither a thread nor a
// clock.
#pragma once

#include "board/platform.h"

namespace syncopate::detail {

class Heartbeat {
 public:
  using Time = board::Time;

  enum class Ask {
    no,
    first,  // since somebody waits: nothing was expected of the others before
    again,
  };
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

}  // namespace syncopate::detail
