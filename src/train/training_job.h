// Starting a training run: its directory, its ranks, and what came out.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "syncopate/world.h"
#include "train/config.h"
#include "train/result.h"
#include "train/run_lock.h"
#include "train/run_progress.h"

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
/// The same, and that the run in `directory`, which is locked, can go on and is not at its end, or
/// lacks its result. Returns how far it had come.
Position check_resumed(const std::filesystem::path& directory, const Config& config);

struct NewRun {
  std::filesystem::path directory;
  std::string warning;  ///< What the user should know: RUNS/latest could not be replaced.
};

/// Makes RUNS/<time>-<workload>-<strategy> for a run of `config`, writes config.json there, and
/// makes RUNS/latest name it.
NewRun make_run(const Config& config, const std::filesystem::path& runs);
/// Makes the run in `directory`, which is locked and must have a checkpoint, one of `config` that
/// has come as far as the checkpoint.
void reopen_run(const std::filesystem::path& directory, const Config& config);

/// Starts ranks on this machine that train in `directory`, and waits for their end.
Finished start_ranks(const std::filesystem::path& directory, const Config& config,
                     const JobOptions& options, bool resume);

struct RankOptions {
  bool resume = false;
  bool survive = true;  ///< As in TrainerOptions.
  std::string label;
  std::function<void()> ready;  ///< Called when all is there for the training to begin.
};
struct RankEnded {
  Result result;
  int signal = 0;  ///< That ended the run, on whichever rank.
};

/// What one rank does, in the directory of its run.
RankEnded train_as_rank(const World& world, const Config& config,
                        const std::filesystem::path& directory, const RankOptions& options);
/// The same in a process of start_ranks().
void run_rank(const std::filesystem::path& directory, bool resume, const std::string& label);

}  // namespace syncopate::train
