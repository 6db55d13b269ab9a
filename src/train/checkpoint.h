// What a run keeps so that it can go on later: in RUN/checkpoint, one file per rank. All ranks save
// together; the new checkpoint takes the place of the old when every part is safe on the disk
// (checkpoint_folder.h).
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "syncopate/world.h"
#include "train/checkpoint_folder.h"
#include "train/collective_io.h"
#include "train/part.h"
#include "train/run_progress.h"

namespace syncopate::train {

/// What one rank goes on from.
struct Snapshot {
  Part part;
  std::vector<torch::Tensor> statistics;  ///< The model's buffers.
  bool same_crew = false;  ///< Those who read it are those who saved it, and none was missing.
};

/// What a checkpoint has to fit.
struct Fit {
  const torch::optim::Optimizer& optimizer;  ///< And its parameters.
  std::vector<torch::Tensor> statistics;     ///< The model's buffers.
};

class Checkpoints {
 public:
  /// `kind`: what a run must have in common with one whose checkpoint it takes.
  Checkpoints(const World& world, CollectiveIo& io, std::filesystem::path run, std::string kind);

  /// All ranks together. Throws Error(environment) on every rank if any part could not be
  /// written; the run can then go on from the checkpoint before.
  void save(const Snapshot& snapshot, const torch::optim::Optimizer& optimizer);

  /// This rank's part, and what it inherits of ranks that there are no more: of P ranks rank r
  /// inherits from all old ranks r, r + P, r + 2P … that there were. For a rank that was not there,
  /// another's part without what was that rank's alone. The optimizer gets its memory when all of
  /// it is checked. Throws Error if there is none, or it does not fit.
  Snapshot load(torch::optim::Optimizer& optimizer,
                const std::vector<torch::Tensor>& statistics) const;
  /// Calls `take`, which takes more of what was loaded; an Error of it is one about this
  /// checkpoint.
  void taking(const std::function<void()>& take) const;

 private:
  World world_;
  CollectiveIo& io_;
  std::filesystem::path run_;
  std::filesystem::path folder_;
  std::string kind_;
};

/// How long each rank that has a part had trained, in seconds.
std::map<int, double> saved_clocks(const std::filesystem::path& run);
/// How far the run had come when it was saved. Throws Error if any part cannot be read, is of
/// another kind of run or another checkpoint, or does not fit.
Position saved_position(const std::filesystem::path& run, const std::string& kind, const Fit& fit);

}  // namespace syncopate::train
