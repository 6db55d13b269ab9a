// The IDX files of MNIST and Fashion-MNIST, as `make data` fetches them.
#pragma once

#include <filesystem>
#include <string>

#include "train/data/images.h"

namespace syncopate::train {

/// Reads FOLDER/PART-images-idx3-ubyte and FOLDER/PART-labels-idx1-ubyte; PART is "train" or
/// "t10k". Files that are missing, damaged or do not belong together are an Error.
Images read_idx(const std::filesystem::path& folder, const std::string& part);

}  // namespace syncopate::train
