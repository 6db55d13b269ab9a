// Who runs a job: ranks that this process starts on this machine, or, where mpirun, srun or
// torchrun has started them, the ranks of which this process is one. Then all of them make the
// same calls on their runner, and the first decides and speaks for all.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "fabric/job_environment.h"
#include "syncopate/allreduce.h"
#include "syncopate/world.h"
#include "train/training_job.h"

namespace syncopate::cli {

class JobRunner {
 public:
  /// Takes part in the world of a launcher, if there is one.
  JobRunner();

  /// What started the ranks; nothing: they are not started yet, and can be any number.
  const std::optional<fabric::JobEnvironment>& launcher() const { return launcher_; }
  /// Whether this process prints what concerns all.
  bool speaks() const { return !world_ || world_->rank() == 0; }
  int cores() const { return cores_; }  ///< Of all hosts.
  int machines() const { return world_ ? world_->machines() : 1; }
  /// Whether so many ranks are more than there are cores, on any of the hosts.
  bool crowded(int ranks) const { return world_ ? crowded_ : ranks > cores_; }

  // Where a rank fails in one of these, all of them end: it with what went wrong, the others
  // without a word and with the same exit code.

  /// What the first rank decides.
  train::Config decide(const std::function<train::Config()>& decision);
  /// The first rank does it.
  void first(const std::function<void()>& action);
  /// Checks on every machine what can be known before the training, or before it goes on.
  /// Returns how far a resumed run had come, to the first rank.
  train::Position check(const train::Config& config,
                        const std::optional<std::filesystem::path>& resumed = std::nullopt);
  /// Trains in a new directory, or goes on in one with a checkpoint.
  train::Finished run(const train::Config& config, const train::JobOptions& options);
  train::Finished resume(const std::filesystem::path& directory, const train::Config& config,
                         const train::JobOptions& options);

  /// "go on under MPICH's mpirun with: syncopate train --resume …"
  std::string go_on(const std::filesystem::path& directory) const;

  /// Whether a rank failed while the others trained. The process then has to end without any
  /// ceremony, because others may never come to it.
  static bool fell_apart();

 private:
  void count_cores();
  void each(const std::function<void()>& action);
  std::string from_first(std::string text);
  train::Finished train_here(const std::string& shown, const train::Config& config,
                             const train::JobOptions& options, bool resume);

  std::optional<fabric::JobEnvironment> launcher_;
  std::optional<World> world_;
  std::optional<train::RunLock> lock_;  ///< Of the run that is trained, with the first rank.
  std::optional<Allreduce<float>> failures_;
  RankSet lost_;  ///< Those that a training went on without.
  int cores_ = 0;
  bool crowded_ = false;
};

}  // namespace syncopate::cli
