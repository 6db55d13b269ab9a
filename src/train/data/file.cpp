#include "train/data/file.h"

#include <fmt/format.h>

#include <fstream>

namespace syncopate::train {
namespace {

/// Larger than any file of these data sets, and small enough for memory.
constexpr std::streamoff kLargestFile = std::streamoff{1} << 30;

}  // namespace

std::vector<std::uint8_t> read_file(const std::filesystem::path& path, const Remedy& remedy) {
  std::error_code none;
  if (const auto folder = path.parent_path(); !std::filesystem::is_directory(folder, none)) {
    refuse(fmt::format("there is no folder {}", folder.string()), remedy.missing);
  }
  if (!std::filesystem::is_regular_file(path, none)) {
    refuse(fmt::format("there is no file {}", path.string()), remedy.missing);
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? std::streamoff(file.tellg()) : -1;
  if (size < 0) refuse(fmt::format("{} cannot be opened", path.string()), remedy.wrong);
  if (size > kLargestFile) {
    refuse(
        fmt::format("{} has {} bytes, where {} at most are due", path.string(), size, kLargestFile),
        remedy.wrong);
  }
  std::vector<std::uint8_t> bytes(size);
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    refuse(fmt::format("{} cannot be read to its end", path.string()), remedy.wrong);
  }
  return bytes;
}

}  // namespace syncopate::train
