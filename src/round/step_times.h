// The running median of a rank's own step times, for automatic grace. The median, because a
// straggling step now and then is the very thing that grace must not follow.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <span>

namespace syncopate::round {

/// The lower median; zero for none. Reorders `values`.
inline std::chrono::nanoseconds median(std::span<std::chrono::nanoseconds> values) {
  if (values.empty()) return std::chrono::nanoseconds(0);
  const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class StepTimes {
 public:
  void add(std::chrono::nanoseconds time) { times_[added_++ % kKept] = time; }

  std::chrono::nanoseconds typical() const {
    std::array<std::chrono::nanoseconds, kKept> copy = times_;
    return median({copy.data(), std::min<std::size_t>(added_, kKept)});
  }

 private:
  static constexpr std::size_t kKept = 15;
  std::array<std::chrono::nanoseconds, kKept> times_{};
  std::size_t added_ = 0;
};

}  // namespace syncopate::round
