// What a run came to: result.json in its directory, and a row of `syncopate compare`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace syncopate::train {

struct Evaluation {
  double seconds = 0;   ///< Of training, until here: the slowest rank's.
  double samples = 0;   ///< Trained on by all ranks together.
  double accuracy = 0;  ///< In per cent.
  double loss = 0;
};

/// One rank's sums over the run.
struct RankSums {
  double seconds = 0;  ///< On its training clock.
  double computing = 0;
  double waiting = 0;
  double samples = 0;
  double steps = 0;
  double exchanges = 0;
  double contributors = 0;  ///< Over its exchanges.
  double staleness = 0;     ///< The largest.
  double dropped = 0;
  double signal = 0;  ///< By which it was told to end, if it was.
};

struct Result {
  double seconds = 0;
  double samples = 0;
  double rounds = 0;
  double accuracy = 0;
  double loss = 0;
  std::optional<double> time_to_target;
  double samples_per_s = 0;
  double wait_share = 0;
  double contributors_mean = 0;
  double staleness_max = 0;
  double dropped = 0;
  /// In which the same samples would be processed if no rank ever waited.
  double ideal_seconds = 0;
  double share_of_ideal = 0;
  bool interrupted = false;
  std::vector<int> dead;
  std::vector<Evaluation> evaluations;
};

void to_json(nlohmann::json& json, const Evaluation& evaluation);
void from_json(const nlohmann::json& json, Evaluation& evaluation);

Result sum_up(const std::vector<RankSums>& ranks, const std::vector<Evaluation>& evaluations,
              double target, bool regression);

void to_json(nlohmann::json& json, const Result& result);
void from_json(const nlohmann::json& json, Result& result);

}  // namespace syncopate::train
