#include "base/text.h"

#include <algorithm>

namespace syncopate::base {

std::string names_of(const RankSet& ranks) {
  if (ranks.empty()) return "no rank";
  return (ranks.size() == 1 ? "rank " : "ranks ") + to_string(ranks);
}

std::string names_of(const std::vector<int>& ranks) {
  RankSet set(ranks.empty() ? 0 : *std::ranges::max_element(ranks) + 1);
  for (const int rank : ranks) set.insert(rank);
  return names_of(set);
}

}  // namespace syncopate::base
