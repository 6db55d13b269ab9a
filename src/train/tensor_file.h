// Tensors in a file, by name, in the format of safetensors (huggingface.co/docs/safetensors), which
// Python reads as well: the length of a header, the header in JSON, the bytes of the tensors. Among
// the notes in the header is a checksum of those bytes.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>

namespace syncopate::train {

using Tensors = std::map<std::string, torch::Tensor>;
using Notes = std::map<std::string, std::string>;

struct TensorFile {
  Tensors tensors;  ///< Of float32, float64 or int64.
  Notes notes;      ///< What the format calls metadata.
};

/// Tensors of any device.
std::string to_bytes(const TensorFile& file);
/// Their tensors are on the host. Throws std::runtime_error for what is no such file, or not whole.
TensorFile read_tensor_file(const std::filesystem::path& path);
/// Its notes alone, which takes no longer for large tensors, and checks nothing of them.
Notes read_notes(const std::filesystem::path& path);

}  // namespace syncopate::train
