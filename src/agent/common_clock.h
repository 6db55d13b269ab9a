// A clock that all machines share, though those of their hosts may be hours apart: that of the
// first machine. A machine asks it for the time now and then, and takes half of the way there and
// back for the way back. Good for telling who came last where it mattered, which is far longer than
// a message takes. Has neither a thread nor a clock of its own.
#pragma once

#include "board/platform.h"

namespace syncopate::agent {

class CommonClock {
 public:
  using Time = board::Time;
  /// The machine whose clock it is.
  static constexpr int kMachine = 0;
  /// No clock of a host comes that far, and sums of two such times fit.
  static constexpr Time kLatest = Time{1} << 60;

  explicit CommonClock(int machine) : known_(machine == kMachine) {}

  /// A question that left at `asked` was answered at `told`, by the common clock, and the answer
  /// came at `heard`.
  void note(Time asked, Time told, Time heard);
  bool known() const { return known_; }
  /// What the common clock shows at `time` of this machine's own; as it is while nothing is known.
  Time common(Time time) const { return time + ahead_; }

 private:
  /// How far two clocks may drift apart.
  static constexpr Time kDriftDivisor = 20'000;

  bool known_;
  Time ahead_ = 0;     ///< The common clock, of this machine's.
  Time error_ = 0;     ///< How wrong that was at most when it was found out …
  Time heard_at_ = 0;  ///< … then.
};

}  // namespace syncopate::agent
