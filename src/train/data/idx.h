// The IDX files of MNIST and Fashion-MNIST, as `make data` fetches them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/data/images.h"

namespace syncopate::train {

/// Reads FOLDER/PART-images-idx3-ubyte and FOLDER/PART-labels-idx1-ubyte; PART is "train" or
/// "t10k". Files that are missing, damaged or do not belong together are an Error.
Images read_idx(const std::filesystem::path& folder, const std::string& part);

/// The bytes of a file, and what to call it in errors.
struct NamedBytes {
  std::string name;
  std::vector<std::uint8_t> bytes;
};
/// The same from what the files hold.
Images parse_idx(NamedBytes images, NamedBytes labels);

}  // namespace syncopate::train
