// Order statistics of a list of times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace peers {

/// The smallest value that at least `share` of the values do not exceed; 0 for an empty list.
inline double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto rank = std::ceil(share * double(values.size()));
  const auto at = std::size_t(std::clamp(rank - 1, 0.0, double(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(at), values.end());
  return values[at];
}

/// The middle value, or the mean of the two in the middle.
inline double median(const std::vector<double>& values) {
  const double lower = quantile(values, 0.5);
  if (values.size() % 2 == 1) return lower;
  return (lower + quantile(values, 0.5 + 0.5 / double(std::max<std::size_t>(values.size(), 1)))) /
         2;
}

inline double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

}  // namespace peers
