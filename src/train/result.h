// What a run came to: result.json in its directory, and a row of `syncopate compare`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

namespace syncopate::train {

inline constexpr const char* kResultFile = "result.json";
/// Of the part of a run before it was resumed.
inline constexpr const char* kEarlierResultFile = "earlier-result.json";

struct Evaluation {
  double seconds = 0;   ///< Of training, until here: the slowest rank's.
  double samples = 0;   ///< Trained on by all ranks together.
  double accuracy = 0;  ///< In per cent.
  double loss = 0;
};

/// One rank's sums over the run, or over the part of it that it has been trained by these ranks.
struct RankSums {
  double before = 0;   ///< On its training clock, when they began.
  double seconds = 0;  ///< On the same, since then.
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
  /// In which these ranks would have done what they did since they began if none had ever waited.
  double ideal_seconds = 0;
  double share_of_ideal = 0;
  bool interrupted = false;
  bool diverged = false;  ///< It stopped as its loss was no number any more.
  std::vector<int> dead;
  std::vector<Evaluation> evaluations;
};

void to_json(nlohmann::json& json, const Evaluation& evaluation);
/// Throws Damaged for what is none.
Evaluation read_evaluation(const nlohmann::json& json);

/// When an evaluation first had this accuracy, or in a regression this loss; nothing if none had.
std::optional<double> time_to(double target, bool regression,
                              const std::vector<Evaluation>& evaluations);

/// Samples that count: what was dropped does not, and what a rank gave before it died does.
struct Counted {
  double all = 0;
  double since = 0;  ///< As far as the ranks' sums go back.
};
Result sum_up(const std::vector<RankSums>& ranks, const Counted& samples,
              const std::vector<Evaluation>& evaluations, double target, bool regression);

void to_json(nlohmann::json& json, const Result& result);
/// From the text of a file; throws Damaged for what is none.
Result parse_result(std::string_view text);
/// Throws Error for a file that cannot be read.
Result read_result(const std::filesystem::path& file);

}  // namespace syncopate::train
