// What a run keeps so that it can go on later: in RUN/checkpoint, one file per rank. All ranks save
// together; the new checkpoint takes the place of the old in one step, when every part is safe on
// the disk.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "syncopate/strategy.h"
#include "syncopate/world.h"
#include "train/course.h"
#include "train/result.h"
#include "train/together.h"

namespace syncopate::train {

/// One rank's part.
struct Snapshot {
  std::vector<float> weights;
  std::vector<torch::Tensor> statistics;  ///< The model's buffers.
  StrategyState strategy;
  std::map<std::string, double> numbers;  ///< The trainer's own.
  std::vector<Evaluation> evaluations;
  int ranks = 0;           ///< Of the world that saved it.
  bool same_crew = false;  ///< Those who read it are those who saved it, and none was missing.
};

class Checkpoints {
 public:
  /// `kind`: what a run must have in common with one whose checkpoint it takes.
  Checkpoints(const World& world, Together& together, std::filesystem::path run, std::string kind);

  /// All ranks together. Throws Error(environment) on every rank if any part could not be
  /// written; the old checkpoint stays as it was.
  void save(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer);

  /// This rank's part, and what it inherits of ranks that there are no more; for a rank that was
  /// not there, another's without what was that rank's alone (inheritance.h). Throws Error if
  /// there is none, or it does not fit.
  Snapshot load(torch::optim::Optimizer& optimizer) const;

 private:
  /// `optimizer` may be null.
  Snapshot read(int rank, torch::optim::Optimizer* optimizer) const;

  World world_;
  Together& together_;
  std::filesystem::path folder_;
  std::string kind_;
};

/// Whether there is a checkpoint to resume from.
bool has_checkpoint(const std::filesystem::path& run);
/// How long each rank that has a part had trained, in seconds.
std::map<int, double> saved_clocks(const std::filesystem::path& run);
/// How far the run had come when it was saved. Throws Error if any part cannot be read, or is of
/// another kind of run.
Position saved_position(const std::filesystem::path& run, const std::string& kind);

}  // namespace syncopate::train
