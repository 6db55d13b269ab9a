// Starting a training run: its directory, its ranks, and what came out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "train/config.h"
#include "train/result.h"

namespace syncopate::train {

/// The hidden command of syncopate-train that is one rank.
inline constexpr const char* kRankCommand = "rank";

struct JobOptions {
  std::filesystem::path runs = "runs";  ///< Where run directories are made.
  std::string label;                    ///< Shown before the progress.
  bool survive = false;                 ///< Go on with the others when a rank dies.
  std::optional<double> timeout_seconds;
};

struct Finished {
  int exit_code = 0;
  std::filesystem::path directory;
  std::optional<Result> result;  ///< Of the ranks that came to the end.
};

/// Checks everything that can be known before ranks run: throws Error.
void check(const Config& config);
/// The same, and that the run in `directory` can go on and is not at its end.
void check_resumed(const std::filesystem::path& directory, const Config& config);

/// Runs `config` in a directory of its own: RUNS/<time>-<workload>-<strategy>.
Finished run_job(const Config& config, const JobOptions& options);
/// Goes on with the run in `directory` from its checkpoint.
Finished resume_job(const std::filesystem::path& directory, const Config& config,
                    const JobOptions& options);

Config read_config(const std::filesystem::path& directory);

/// What one rank does, in the directory of its run.
void run_rank(const std::filesystem::path& directory, bool resume, const std::string& label);

}  // namespace syncopate::train
