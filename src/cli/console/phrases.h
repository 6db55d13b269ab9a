// Words that go with numbers.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace syncopate::cli {

/// "1 core", "2 cores".
inline std::string counted(std::size_t number, const std::string& thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

/// "rank 2", "ranks 0, 3".
inline std::string named(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? " " : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank" : "ranks") + text;
}

}  // namespace syncopate::cli
