// What the agent does for a group average every so many steps: all ranks of all machines average
// together. No rank goes on before all have come. (When none is left, machines gather their
// reports once more, and find out by that that it is over.)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/task.h"
#include "fabric/machine_sum.h"
#include "group/machine_rounds.h"
#include "group/mean.h"
#include "round/group_agreement.h"

namespace syncopate::group {

/// What machines send each other for it has this tag and the next one.
inline constexpr int kGlobalTag = 0;

class GlobalTask {
 public:
  GlobalTask(agent::TaskContext& context, MachineRounds& rounds, round::GroupAgreement& agreement);

  /// Does what can be done; returns when to look again without news.
  Time work(Time now);

  bool under_way() const { return state_ != State::idle; }
  /// Whether vectors are on their way.
  bool moving() const { return state_ == State::summing; }
  std::uint64_t moves() const { return moves_; }

 private:
  /// What a machine tells the others, and then the numbers of its contributors.
  struct MachineReport {
    round::GroupAgreement::MachineReport agreed;
    std::uint64_t staleness = 0;
    int count = 0;
  };
  enum class State {
    idle,       // not all ranks of this machine are there
    gathering,  // this machine has reported; the reports of the others are awaited
    summing,    // all have reported; the machines sum up
  };

  /// Returns false if there is no buffer at the moment.
  bool begin();
  void sum_up();
  void conclude();
  MachineReport report_of(int machine) const;
  /// The contributors of a machine. Throws BadMessage if they cannot be.
  std::vector<int> contributors_of(int machine) const;
  LocalGroup where() const {
    return {.step = agreement_.global_step(), .group = 0, .members = all_ranks_};
  }
  MeanOfMachines mean() const { return {rounds_.board().shape.type, largest_}; }

  agent::TaskContext& context_;
  MachineRounds& rounds_;
  round::GroupAgreement& agreement_;
  std::vector<int> all_ranks_;  ///< Of this machine.
  int largest_ = 0;             ///< How many ranks a machine has at most.
  std::size_t report_bytes_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> reports_;

  State state_ = State::idle;
  MachineRounds::Share share_;
  MachineRounds::Reserved place_;
  std::unique_ptr<fabric::Operation> gathering_;
  fabric::MachineSum sum_;
  std::uint64_t moves_ = 0;
};

}  // namespace syncopate::group
