// Which ranks are on which machine: a table of twelve bytes per rank, made once and shared by its
// copies.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace syncopate::round {

class Machines {
 public:
  /// `machine_of` tells the machine of every rank; machines are numbered 0, 1, 2 …
  Machines(const std::vector<int>& machine_of)
      : table_(std::make_shared<const Table>(machine_of)) {}

  Machines(std::initializer_list<int> machine_of) : Machines(std::vector<int>(machine_of)) {}

  int count() const { return static_cast<int>(table_->first.size()) - 1; }
  int ranks() const { return static_cast<int>(table_->machine_of.size()); }
  int of(int rank) const { return table_->machine_of[rank]; }
  /// The number of a rank within its machine.
  int local(int rank) const { return table_->local[rank]; }
  int size(int machine) const { return table_->first[machine + 1] - table_->first[machine]; }
  /// The numbers in the world of a machine's ranks, in increasing order.
  std::span<const int> on(int machine) const {
    return std::span(table_->ranks).subspan(table_->first[machine], size(machine));
  }
  int largest() const {
    int most = 0;
    for (int machine = 0; machine < count(); ++machine) most = std::max(most, size(machine));
    return most;
  }

 private:
  struct Table {
    explicit Table(const std::vector<int>& machines)
        : machine_of(machines),
          local(machines.size()),
          ranks(machines.size()),
          first(*std::max_element(machines.begin(), machines.end()) + 2) {
      for (const int machine : machines) ++first[machine + 1];
      for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
      std::vector<int> next(first.begin(), first.end() - 1);
      for (int rank = 0; rank < static_cast<int>(machines.size()); ++rank) {
        const int at = next[machines[rank]]++;
        ranks[at] = rank;
        local[rank] = at - first[machines[rank]];
      }
    }
    std::vector<int> machine_of;
    std::vector<int> local;
    std::vector<int> ranks;  ///< Machine by machine …
    std::vector<int> first;  ///< … and where each of them begins.
  };
  std::shared_ptr<const Table> table_;
};

}  // namespace syncopate::round
