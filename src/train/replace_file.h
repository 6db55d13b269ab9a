// Writing a file of a run in one step: whoever reads it finds the old one or the new one, whole.
#pragma once

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace syncopate::train {

/// Throws std::runtime_error or std::filesystem::filesystem_error; the old file is unharmed then.
inline void replace_file(const std::filesystem::path& file, const std::string& text) {
  const std::filesystem::path fresh = file.string() + ".new";
  std::ofstream stream(fresh, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) {
    std::filesystem::remove(fresh);
    throw std::runtime_error("the disk may be full");
  }
  std::filesystem::rename(fresh, file);
}

}  // namespace syncopate::train
