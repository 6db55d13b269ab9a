// Reading whole files of a data set. Readers refuse them with the remedy of their set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "train/refusal.h"

namespace syncopate::train {

/// What a user does about a file that is missing or wrong; each data set has its own.
struct Remedy {
  std::string missing;
  std::string wrong;
};

/// All of the file; an Error with the remedy if it is not there or cannot be read.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path, const Remedy& remedy);

}  // namespace syncopate::train
