// Which ranks are on which machine.
#pragma once

#include <algorithm>
#include <vector>

namespace syncopate::round {

/// The numbers in the world of each machine's ranks, in increasing order. `machine_of` tells the
/// machine of every rank.
inline std::vector<std::vector<int>> ranks_by_machine(const std::vector<int>& machine_of) {
  std::vector<std::vector<int>> result(*std::max_element(machine_of.begin(), machine_of.end()) + 1);
  for (int rank = 0; rank < static_cast<int>(machine_of.size()); ++rank) {
    result[machine_of[rank]].push_back(rank);
  }
  return result;
}

}  // namespace syncopate::round
