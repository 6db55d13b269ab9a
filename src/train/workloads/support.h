// What the workloads share.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <mutex>

#include "train/workload.h"

namespace syncopate::train {

inline std::mutex torch_generator;  // Torch has one for the whole process.

/// Makes a model whose initial weights depend on the seed alone.
template <typename Make>
auto seeded(std::uint64_t seed, const Make& make) {
  const std::lock_guard lock(torch_generator);
  torch::manual_seed(seed);
  return make();
}

inline Score classify(const torch::Tensor& logits, const torch::Tensor& classes) {
  return {.losses = torch::cross_entropy_loss(logits, classes, {}, at::Reduction::None),
          .hits = logits.detach().argmax(1).eq(classes).to(torch::kFloat)};
}

}  // namespace syncopate::train
