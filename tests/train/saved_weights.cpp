#include "train/saved_weights.h"

#include <string>

#include "train/tensor_file.h"

namespace syncopate::testing {

std::vector<float> saved_values(const std::filesystem::path& file, const std::string& name) {
  const torch::Tensor values = train::read_tensor_file(file).tensors.at(name);
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

std::vector<float> saved_weights(const std::filesystem::path& run, int rank) {
  return saved_values(run / "checkpoint" / ("rank-" + std::to_string(rank) + ".safetensors"),
                      "weights");
}

bool has_cuda() { return torch::cuda::is_available(); }

}  // namespace syncopate::testing
