// Runs the sides of a comparison in turn, several times over, and merges what they measured.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/peers/workload.h"
#include "bench/suite/side.h"

namespace syncopate::cli::bench {

/// One line of work of one side. A peer knows no triggers: its own is "all".
struct Entry {
  Side side;
  peers::Workload work;
};

/// What one entry measured at one size: each figure is the median over the repetitions.
struct Measured {
  std::string peer;
  std::string trigger;
  std::size_t bytes = 0;
  nlohmann::json figures;

  double figure(const std::string& name) const { return figures.value(name, 0.0); }
};

struct Comparison {
  std::vector<Measured> rows;         ///< By size, and within a size as the entries were given.
  std::vector<std::string> failures;  ///< What peers that failed had to say.
};

/// The repetitions alternate between the entries, so that noise of the machine hits all alike. A
/// peer that fails is left out from then on; if our side fails, that is thrown.
Comparison compare(const std::vector<Entry>& entries, int repetitions, double timeout_seconds);

/// The smallest `figure` of any peer at this size, or 0 if no peer was measured.
double best_peer(const std::vector<Measured>& rows, std::size_t bytes, const char* figure);

}  // namespace syncopate::cli::bench
