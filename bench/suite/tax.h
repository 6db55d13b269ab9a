// How much a rank that computes is slowed while the others run rounds. Rank 0 computes; the others
// are parked, or do arithmetic of their own, or run rounds, in turn.
#pragma once

#include <nlohmann/json.hpp>

#include "syncopate/world.h"

namespace syncopate::cli::bench {

struct TaxWork {
  std::size_t bytes = 0;  ///< Of the vector that the rounds sum.
  int repetitions = 9;
  double seconds = 0.5;  ///< Of computing, in each repetition of each of the three.
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TaxWork, bytes, repetitions, seconds)

/// Measures, as one rank of the world. Only rank 0 gets the figures.
nlohmann::json measure_tax(World world, const TaxWork& work);

}  // namespace syncopate::cli::bench
