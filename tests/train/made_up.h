// Small data sets that a test makes up.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "train/temporary_folder.h"

namespace syncopate::testing {

using Bytes = std::vector<std::uint8_t>;

inline void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

/// Words of a header, the highest byte first, and then `count` bytes of content.
inline Bytes idx_bytes(const std::vector<std::uint32_t>& words, std::size_t count) {
  Bytes bytes;
  for (const std::uint32_t word : words) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(std::uint8_t(word >> shift));
  }
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(std::uint8_t(i * i / 7));
  return bytes;
}

/// Pictures with a bright row that tells their class.
inline void write_idx(const std::filesystem::path& folder, const std::string& part,
                      std::uint32_t count) {
  Bytes images = idx_bytes({0x803, count, 28, 28}, 0);
  Bytes labels = idx_bytes({0x801, count}, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t label = i % 10;
    labels.push_back(std::uint8_t(label));
    for (std::uint32_t pixel = 0; pixel < 28 * 28; ++pixel) {
      images.push_back(pixel / 28 == 2 * label ? 255 : std::uint8_t(i * 31 + pixel * 17) / 4);
    }
  }
  write_file(folder / (part + "-images-idx3-ubyte"), images);
  write_file(folder / (part + "-labels-idx1-ubyte"), labels);
}

/// The files of CIFAR-10 in full size, but with content in the first record alone: the rest is a
/// hole, which costs no space.
inline void write_cifar(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kRecord = 3073;
  for (const char* name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"}) {
    Bytes record = idx_bytes({}, kRecord);
    record[0] = 7;
    write_file(folder / name, record);
    std::filesystem::resize_file(folder / name, 10000 * kRecord);
  }
}

/// Where the real data sets are, if `make data` has been run; else nothing.
inline std::filesystem::path real_data(const std::string& name) {
  const char* folder = std::getenv("SYNCOPATE_DATA");
  const std::filesystem::path data = folder != nullptr ? folder : SYNCOPATE_SOURCE_DATA;
  return std::filesystem::exists(data / name / "train-images-idx3-ubyte") ? data : "";
}

}  // namespace syncopate::testing
