// What the sum of a round is divided by: the one place that says it, for rounds of one machine and
// of several.
#pragma once

#include "syncopate/policy.h"

namespace syncopate::partial {

/// Of a round with so many contributors, whose deposits weigh `weight` together, in a world of
/// `ranks`. Where nothing contributed the sum is zero, and stays so.
inline double divisor(Scale scale, int ranks, int contributors, double weight) {
  double result = 1;
  switch (scale) {
    case Scale::none:
      break;
    case Scale::ranks:
      result = ranks;
      break;
    case Scale::contributors:
      result = contributors;
      break;
    case Scale::weight:
      result = weight;
      break;
  }
  return result > 0 ? result : 1;
}

}  // namespace syncopate::partial
