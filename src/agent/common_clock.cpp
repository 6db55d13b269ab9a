#include "agent/common_clock.h"

namespace syncopate::agent {

void CommonClock::note(Time asked, Time told, Time heard) {
  if (asked < 0 || asked > heard || told < 0 || told > kLatest || heard > kLatest) return;
  const Time error = (heard - asked) / 2;
  const Time error_by_now = error_ + (heard - heard_at_) / kDriftDivisor;
  if (known_ && error > error_by_now) return;
  known_ = true;
  ahead_ = told + error - heard;
  error_ = error;
  heard_at_ = heard;
}

}  // namespace syncopate::agent
