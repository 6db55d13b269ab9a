// What numbers in files of a run may be: larger than any run needs, and small enough to count on.
#pragma once

#include <cstdint>
#include <limits>

namespace syncopate::train {

inline constexpr int kMostRanks = 1'000'000;
/// Whole numbers up to here are exact in a double, and in JSON.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;
inline constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace syncopate::train
