// Files of torch's tensors (tensor_bytes.h has the format): to bytes and back.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>

#include "train/tensor_bytes.h"

namespace syncopate::train {

using Tensors = std::map<std::string, torch::Tensor>;

struct TensorFile {
  Tensors tensors;  ///< Of float32, float64 or int64.
  Notes notes;
};

/// Tensors of any device; throws Damaged for other types. Their values are copied to the host where
/// they are not there in one piece; `kept` has to live as long as the result.
std::map<std::string, TensorBytes> bytes_of(const Tensors& tensors, Tensors& kept);
/// A copy on the host.
torch::Tensor tensor_of(const TensorBytes& bytes);

std::string to_bytes(const TensorFile& file);
/// Throws Damaged for what is no such file, or not whole.
TensorFile read_tensor_file(const std::filesystem::path& path);

}  // namespace syncopate::train
