// The figures of several runs of several strategies, put side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "train/config.h"
#include "train/result.h"

namespace syncopate::cli {

/// A mean over runs, and how far they lie apart.
struct Spread {
  double mean = 0;
  double least = 0;
  double most = 0;
};

Spread spread(const std::vector<double>& values);

struct Row {
  std::string strategy;
  std::vector<train::Result> runs;
  Spread seconds, accuracy, loss, samples_per_s, wait_share, contributors, ideal_seconds,
      share_of_ideal;
  double staleness_max = 0;
  int diverged = 0;  ///< How many runs did: those have no time for the whole work.
  /// The mean over the runs that got there; nothing if none did.
  std::optional<double> time_to_target;
  int reached = 0;  ///< How many did.
  /// Against the row of `sync`, if there is one.
  std::optional<double> speedup;
  std::optional<double> target_share;  ///< Time to the target, over all of sync's time.
};

struct Comparison {
  double target = 0;
  bool target_of_sync = false;  ///< A run's target is what sync ended with under the same seed.
  std::vector<Row> rows;
};

/// `target`: nothing means what `sync` ended with, or else the workload's own.
Comparison put_together(const std::vector<std::pair<std::string, std::vector<train::Result>>>& runs,
                        std::optional<double> target, double usual_target, bool regression);

/// One object per row.
std::vector<nlohmann::json> to_lines(const Comparison& comparison, const train::Config& config);

/// The table, and what it says in a few plain sentences.
std::string table(const Comparison& comparison, bool regression, int ranks);
std::string conclusion(const Comparison& comparison, bool regression);

}  // namespace syncopate::cli
