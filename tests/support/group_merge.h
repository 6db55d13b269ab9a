// What one rank makes of the means of its groups, by the formulas of LateMerge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "kernel/kernel.h"
#include "syncopate/group_average.h"
#include "syncopate/types.h"

namespace syncopate::testing {

template <typename T>
class GroupMerge {
 public:
  GroupMerge() = default;
  GroupMerge(LateMerge late, std::span<const T> initial)
      : late_(late), origin_(initial.begin(), initial.end()) {}

  /// The weights after a step: `own` missed the mean of `members` if `lag` is above 0.
  std::vector<T> weights(std::uint64_t step, int lag, double members, std::span<const T> mean,
                         std::span<const T> own) const {
    if (lag == 0) return {mean.begin(), mean.end()};
    if (late_ == LateMerge::average) {
      return sum({{.values = mean.data(), .weight = members}, {.values = own.data(), .weight = 1}},
                 1 / (members + 1));
    }
    std::vector<board::Term> terms{{.values = mean.data(), .weight = 1},
                                   {.values = own.data(), .weight = 1},
                                   {.values = origin_.data(), .weight = -1}};
    for (std::uint64_t unseen = step - lag + 1; unseen < step; ++unseen) {
      terms.push_back({.values = movements_.at(unseen).data(), .weight = 1});
    }
    return sum(terms, 1);
  }

  /// The reverse for one element: members times their mean, of which the weight was made.
  double sum_behind(double weight, std::uint64_t step, int lag, double members, std::size_t element,
                    double own) const {
    if (lag == 0) return weight * members;
    if (late_ == LateMerge::average) return weight * (members + 1) - own;
    double kept = own - double(float(origin_[element]));
    for (std::uint64_t unseen = step - lag + 1; unseen < step; ++unseen) {
      kept += double(float(movements_.at(unseen)[element]));
    }
    return (weight - kept) * members;
  }

  /// To be told after each step what the rank published and what it has now.
  void follow(std::uint64_t step, std::span<const T> own, std::span<const T> after) {
    movements_[step] =
        sum({{.values = own.data(), .weight = 1}, {.values = origin_.data(), .weight = -1}}, 1);
    origin_.assign(after.begin(), after.end());
  }

 private:
  std::vector<T> sum(const std::vector<board::Term>& terms, double scale) const {
    std::vector<T> result(origin_.size());
    board::weighted_sum(data_type<T>, result.size(), terms, scale, result.data());
    return result;
  }

  LateMerge late_ = LateMerge::average;
  std::vector<T> origin_;
  std::map<std::uint64_t, std::vector<T>> movements_;
};

}  // namespace syncopate::testing
