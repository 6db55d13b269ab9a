// What the agent does for a group average every so many steps: all ranks of all machines average
// together. Nobody goes on before everybody has come. (When nobody is left, machines gather their
// reports once more, and find out by that that it is over.)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "agent/task.h"
#include "fabric/machine_sum.h"
#include "group/machine_board.h"
#include "round/group_agreement.h"

namespace syncopate::detail {

/// What machines send each other for it has this tag and the next one.
inline constexpr int kTogetherTag = 0;

/// What a machine divides its sum of up to `members` weights by before it goes on its way: float16
/// may not hold it. A power of two, and no more than one machine needs, as small numbers lose bits
/// by it.
double reserve_of(DataType type, int members);

class GlobalTask {
 public:
  GlobalTask(TaskContext& context, const board::GroupShape& shape, board::MachineGroupBoard& board,
             round::GroupAgreement& agreement);

  /// Does what can be done; returns when to look again without news.
  board::Time work(board::Time now);

  bool under_way() const { return phase_ != Phase::idle; }
  /// Whether vectors are on their way.
  bool moving() const { return phase_ == Phase::summing; }
  std::uint64_t moves() const { return moves_; }

 private:
  /// What a machine tells the others, and then the numbers of its contributors.
  struct MachineReport {
    round::GroupAgreement::MachineReport agreed;
    std::uint64_t staleness = 0;
    int count = 0;
  };
  enum class Phase { idle, gathering, summing };

  /// Returns false if there is no buffer at the moment.
  bool begin();
  void sum_up();
  void conclude();
  MachineReport report_of(int machine) const;
  /// The contributors of a machine. Throws BadMessage if they cannot be.
  std::vector<int> contributors_of(int machine) const;
  board::LocalGroup where() const {
    return {.step = agreement_.global_step(), .group = 0, .members = everybody_};
  }

  TaskContext& context_;
  board::GroupShape shape_;
  board::MachineGroupBoard& board_;
  round::GroupAgreement& agreement_;
  std::vector<int> everybody_;  ///< Of this machine.
  int largest_ = 0;             ///< How many ranks a machine has at most.
  std::size_t report_bytes_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> reports_;

  Phase phase_ = Phase::idle;
  board::MachineGroupBoard::Share share_;
  int buffer_ = -1;                ///< Where this machine's sum is, and then the mean …
  std::vector<std::byte> unread_;  ///< … or here, if nobody is left on this machine.
  std::unique_ptr<fabric::Operation> gathering_;
  MachineSum sum_;
  std::uint64_t moves_ = 0;
};

}  // namespace syncopate::detail
