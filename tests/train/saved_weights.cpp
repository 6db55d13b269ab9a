#include "train/saved_weights.h"

#include <string>

#include "train/tensor_file.h"

namespace syncopate::testing {

std::vector<float> saved_weights(const std::filesystem::path& run, int rank) {
  const auto file = run / "checkpoint" / ("rank-" + std::to_string(rank) + ".safetensors");
  const torch::Tensor weights = train::read_tensor_file(file).tensors.at("weights");
  return {weights.data_ptr<float>(), weights.data_ptr<float>() + weights.numel()};
}

bool has_cuda() { return torch::cuda::is_available(); }

}  // namespace syncopate::testing
