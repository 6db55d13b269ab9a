// What only libtorch can tell of a run, for tests that do without its header.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace syncopate::testing {

/// The tensor of a file that has this name.
std::vector<float> saved_values(const std::filesystem::path& file, const std::string& name);
/// The weights that one rank has saved.
std::vector<float> saved_weights(const std::filesystem::path& run, int rank);

bool has_cuda();

}  // namespace syncopate::testing
