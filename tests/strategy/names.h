// Names of tests that are made from strategies and numbers of ranks.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <tuple>

namespace syncopate::testing {

/// "eager-solo:window=2" becomes "eager_solo_window_2".
inline std::string test_name(std::string strategy) {
  for (char& letter : strategy) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return strategy;
}

inline std::string name_by_ranks(const ::testing::TestParamInfo<int>& info) {
  return std::to_string(info.param);
}

inline std::string name_by_strategy(const ::testing::TestParamInfo<const char*>& info) {
  return test_name(info.param);
}

inline std::string name_by_both(
    const ::testing::TestParamInfo<std::tuple<const char*, int>>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param));
}

}  // namespace syncopate::testing
