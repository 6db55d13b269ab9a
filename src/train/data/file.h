// Reading whole files of a data set, and the one way in which their readers refuse them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace syncopate::train {

/// What a user does about a file that is missing or wrong; each data set has its own.
struct Remedy {
  std::string missing;
  std::string wrong;
};

/// All of the file; an Error with the remedy if it is not there or cannot be read.
std::vector<std::uint8_t> read_file(const std::filesystem::path& path, const Remedy& remedy);

[[noreturn]] void refuse(const std::string& what_is_wrong, const std::string& remedy);

}  // namespace syncopate::train
