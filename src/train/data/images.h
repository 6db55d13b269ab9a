// Pictures of ten classes, as the bytes that the data sets hold.
#pragma once

#include <cstdint>
#include <vector>

namespace syncopate::train {

constexpr int kImageClasses = 10;

struct Images {
  std::int64_t channels = 1;
  std::int64_t side = 28;  ///< Height and width.
  std::vector<std::uint8_t>
      pixels;  ///< Picture after picture, channel after channel, row after row.
  std::vector<std::uint8_t> labels;  ///< One per picture, below kImageClasses.

  std::int64_t count() const { return std::int64_t(labels.size()); }
  std::int64_t bytes_each() const { return channels * side * side; }
};

}  // namespace syncopate::train
