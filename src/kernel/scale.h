// The room that a sum needs in the type that keeps it: the one place that says it.
#pragma once

#include <cmath>

#include "syncopate/types.h"

namespace syncopate::board {

/// What a sum of so many terms (or of terms that weigh so much together) is divided by, so that the
/// type holds it wherever it holds each term: a power of two, which costs no bits. 1 for types
/// whose range is that of float32 or more, and where there is nothing to sum up.
inline double headroom_for(DataType type, double terms) {
  if (type != DataType::float16 || !(terms > 0)) return 1;
  return std::exp2(std::ceil(std::log2(terms)));
}

}  // namespace syncopate::board
