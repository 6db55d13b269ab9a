#include "syncopate/rank_set.h"

#include <bit>

namespace syncopate {

int RankSet::size() const {
  int count = 0;
  for (const std::uint64_t word : words_) count += std::popcount(word);
  return count;
}

std::vector<int> RankSet::list() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < static_cast<int>(words_.size() * 64); ++rank) {
    if (contains(rank)) ranks.push_back(rank);
  }
  return ranks;
}

std::string to_string(const RankSet& ranks) {
  const std::vector<int> list = ranks.list();
  if (list.empty()) return "none";
  std::string text = std::to_string(list.front());
  for (std::size_t i = 1; i < list.size(); ++i) {
    text += (i + 1 == list.size() ? " and " : ", ") + std::to_string(list[i]);
  }
  return text;
}

}  // namespace syncopate
