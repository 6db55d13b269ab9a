// How the sum of a round is scaled: the one place that says it, for rounds of one machine and of
// several.
#pragma once

#include "kernel/scale.h"
#include "syncopate/policy.h"
#include "syncopate/types.h"

namespace syncopate::partial {

class Scaling {
 public:
  /// In a world of `ranks`.
  Scaling(Scale scale, DataType type, int ranks) : scale_(scale), type_(type), ranks_(ranks) {}

  /// What the sum of so many contributors is divided by, whose deposits weigh `weight` together.
  /// Where nothing contributed the sum is zero, and stays so.
  double divisor(int contributors, double weight) const {
    double result = 1;
    switch (scale_) {
      case Scale::none:
        break;
      case Scale::ranks:
        result = ranks_;
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
  /// Whether it depends on what the round took.
  bool by_contributions() const { return scale_ == Scale::contributors || scale_ == Scale::weight; }

  /// Whether each machine divides its own sum by a power of two: sixteen bits of this kind may not
  /// hold it otherwise. The sum of all is then divided by the rest, and by all of it as on one
  /// board where no machine has more than one rank.
  bool in_two_steps() const { return type_ == DataType::float16 && scale_ != Scale::none; }
  /// What a machine's own sum is divided by, of deposits that weigh so much.
  double first_step(double weight) const {
    return in_two_steps() ? board::headroom_for(type_, weight) : 1;
  }

 private:
  Scale scale_;
  DataType type_;
  int ranks_;
};

}  // namespace syncopate::partial
