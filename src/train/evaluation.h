// Judging the model by the test set: all ranks together, each a share of it, while the run stands
// still. Statistics that are not trained (batch normalization) are averaged over ranks first.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "syncopate/allreduce.h"
#include "syncopate/world.h"
#include "train/result.h"
#include "train/workload.h"

namespace syncopate::train {

class Evaluator {
 public:
  Evaluator(const World& world, Task& task, torch::Device device);

  /// All ranks together, with equal weights. `clock` is how long this rank has trained.
  Evaluation evaluate(double clock, double samples);
  /// All ranks together: the mean of every statistic goes to all of them.
  void average_statistics();

 private:
  /// The hits among these samples of the test set, and the sum of their losses.
  std::pair<double, double> judge(std::span<const std::int64_t> samples);

  World world_;
  Task& task_;
  torch::Device device_;
  Allreduce<double> sums_;
  std::vector<torch::Tensor> statistics_;
  std::optional<Allreduce<float>> statistics_sums_;
};

}  // namespace syncopate::train
