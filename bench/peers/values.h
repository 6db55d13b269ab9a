// The values that are summed. All are small whole numbers, so that sums are exact in float32
// whatever their order, and a wrong result shows.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace peers {

constexpr std::size_t kValuePeriod = 8;

inline void fill_values(std::span<float> values, int rank) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = float(rank + 1) + float(i % kValuePeriod);
  }
}

inline void wrong_result(std::size_t index, float value, const std::string& expected) {
  throw std::runtime_error("wrong result: element " + std::to_string(index) + " is " +
                           std::to_string(value) + ", should be " + expected);
}

/// The sum of everyone's fill_values().
inline void check_values(std::span<const float> result, int ranks) {
  const auto base = float(ranks) * float(ranks + 1) / 2;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const float expected = base + float(ranks) * float(i % kValuePeriod);
    if (result[i] != expected) wrong_result(i, result[i], std::to_string(expected));
  }
}

/// Ones at the even or the odd places, by iteration: a sum then tells how many of its
/// contributions were made in this iteration and how many are left over from the one before.
inline void mark_values(std::span<float> values, std::size_t iteration) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 2 == iteration % 2 ? 1.0F : 0.0F;
  }
}

/// What one rank brought, where the others brought zeros or nothing.
inline void check_ones(std::span<const float> result) {
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] != 1.0F) wrong_result(i, result[i], "1");
  }
}

}  // namespace peers
