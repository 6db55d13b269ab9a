// A set of ranks: who contributed to a round, who died.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate {

class RankSet {
 public:
  RankSet() = default;
  explicit RankSet(int ranks) : words_((ranks + 63) / 64, 0) {}

  void insert(int rank) { words_[rank / 64] |= std::uint64_t{1} << (rank % 64); }
  void erase(int rank) { words_[rank / 64] &= ~(std::uint64_t{1} << (rank % 64)); }
  bool contains(int rank) const {
    return rank >= 0 && std::size_t(rank) / 64 < words_.size() &&
           ((words_[rank / 64] >> (rank % 64)) & 1) != 0;
  }
  int size() const;
  bool empty() const { return size() == 0; }
  std::vector<int> list() const;  ///< Members in increasing order.

  friend bool operator==(const RankSet&, const RankSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// "0, 3 and 5"; "none" for the empty set.
std::string to_string(const RankSet& ranks);

}  // namespace syncopate
