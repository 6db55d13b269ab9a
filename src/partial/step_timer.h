// How long the steps of this rank take, from a result to the next deposit: what automatic grace is
// a share of. Measured only where it is asked for, as the clock is dear.
#pragma once

#include "partial/participants.h"
#include "round/step_times.h"

namespace syncopate::partial {

class StepTimer {
 public:
  StepTimer(const Grace& grace, Participants& participants, Time now)
      : participants_(participants), measures_(grace.share > 0), computing_since_(now) {}

  bool measures() const { return measures_; }
  void begin(Time now) { computing_since_ = now; }
  /// The step ends; the others learn how long steps of this rank typically are.
  void end(Time now) {
    times_.add(Duration(now - computing_since_));
    participants_.note_step_time(times_.typical());
  }

 private:
  Participants& participants_;
  bool measures_;
  round::StepTimes times_;
  Time computing_since_;
};

}  // namespace syncopate::partial
