// How sums of weights become means: the one place where a group average is scaled. A result is a
// mean everywhere, as sixteen bits may not hold the sum.
#pragma once

#include <algorithm>

#include "kernel/scale.h"
#include "syncopate/types.h"

namespace syncopate::group {

/// What the sum of so many weights is scaled by.
inline double mean_of(double contributors) { return 1 / contributors; }

/// The mean over machines, in two steps: each sums up its own members, and then machines add those
/// sums. float16 may not hold the sum of a machine, so that is divided by a power of two first: no
/// more than one machine needs, as small numbers lose bits by it.
class MeanOfMachines {
 public:
  /// `most`: how many members a machine has at most.
  MeanOfMachines(DataType type, int most) : headroom_(board::headroom_for(type, most)) {}

  /// What the sum of one machine is scaled by, before it goes on its way.
  double of_machine() const { return 1 / headroom_; }
  /// What the sum of all is scaled by. (All members may have gone.)
  double of_all(int contributors) const { return headroom_ / std::max(contributors, 1); }

 private:
  double headroom_;
};

}  // namespace syncopate::group
