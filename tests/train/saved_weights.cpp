#include "train/saved_weights.h"

#include <torch/torch.h>

#include <string>

namespace syncopate::testing {

std::vector<float> saved_weights(const std::filesystem::path& run, int rank) {
  torch::serialize::InputArchive archive;
  archive.load_from((run / "checkpoint" / ("rank-" + std::to_string(rank) + ".pt")).string());
  torch::Tensor weights;
  archive.read("weights", weights, true);
  weights = weights.contiguous();
  return {weights.data_ptr<float>(), weights.data_ptr<float>() + weights.numel()};
}

bool has_cuda() { return torch::cuda::is_available(); }

}  // namespace syncopate::testing
