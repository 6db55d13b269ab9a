// Everything that determines a training run, as the user asked for it. It is kept in the run
// directory as config.json, and handed to the ranks as the same text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace syncopate::train {

/// When a run ends: "samples:N", "epochs:X", "rounds:N", "seconds:S" or "accuracy:X" (per cent; in
/// a regression, "loss:X").
struct Until {
  enum class Kind { samples, epochs, rounds, seconds, accuracy, loss };
  Kind kind = Kind::epochs;
  double amount = 0;

  static Until parse(std::string_view text);
  friend bool operator==(const Until&, const Until&) = default;
};

std::string to_string(const Until& until);

/// What is counted in samples.
inline constexpr std::int64_t kMostSamples = 1'000'000'000'000;

struct Config {
  std::string workload;
  std::string model;
  std::string strategy;
  std::string strategy_in_full;  ///< With the parameters that were left out.
  int ranks = 8;
  std::int64_t batch = 32;
  std::string optimizer = "sgd";  ///< sgd, adam or adamw
  double rate = 0.05;
  double momentum = 0.9;
  double weight_decay = 0;
  bool nesterov = false;
  std::string schedule = "constant";  ///< constant, or cosine: over `until`, by samples
  std::string imbalance = "none";
  double pace_ms = 0;  ///< Of a unit of work; 0: as fast as it goes.
  Until until;
  /// Samples of all ranks; 0: only at the end, -1: four times per epoch.
  std::int64_t evaluate_every = -1;
  bool checkpoints = true;  ///< Save one at the end; and in between:
  /// Samples of all ranks; 0: only at the end, -1: each epoch.
  std::int64_t checkpoint_every = -1;
  double target = 0;  ///< Accuracy in per cent, or loss in a regression.
  std::uint64_t seed = 1;
  std::string device = "cpu";  ///< cpu, cuda, or mixed: rank 0 on the GPU, the others not
  std::string data = "data";
  bool metrics = true;

  friend bool operator==(const Config&, const Config&) = default;
};

/// What a run has in common with every run that can go on from its checkpoint.
std::string kind_of(const Config& config);

/// Refuses what no run can be: numbers out of their range, words that there are not. What depends
/// on the workload and its data is for others to check. Throws Error(invalid_argument).
void check_settings(const Config& config);
/// Those of the optimizer, which are among them.
void check_optimizer(const Config& config);

/// config.json of a run, and back: throws Damaged or Error for a text that is none. Its values are
/// of their types, and are yet to be checked.
std::string config_text(const Config& config);
Config parse_config(std::string_view text);
/// Checked as what is typed is. Throws Error for a directory that is none of a run, or whose
/// config.json cannot be read.
Config read_config(const std::filesystem::path& directory);

void to_json(nlohmann::json& json, const Config& config);

}  // namespace syncopate::train
