// The sum of a round over all machines: this machine's own, which its ranks make in the stage, and
// its reduction with those of the others, piece by piece, as the first chunks of the stage are
// done. Where a single rank contributes, its deposit is the machine's sum, and the result may take
// its place.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/task.h"
#include "board/wait.h"
#include "fabric/machine_sum.h"
#include "partial/machine_rounds.h"

namespace syncopate::detail {

class StagedSum {
 public:
  StagedSum(partial::MachineRounds& rounds, agent::TaskContext& context, fabric::Combine combine);

  /// Begins with what the agent has taken for `round`. This machine's sum is divided by `divisor`.
  void open(partial::RoundNumber round, double divisor);
  /// Does what can be done. The sum of all machines is scaled by `scale`; until that is known only
  /// this machine's own is made.
  void advance(board::Time now, std::optional<double> scale);
  bool complete() const { return begun_ == elements() && !under_way_; }
  /// Puts the sum where the result of the round is to be, once it is complete.
  void place();

  /// Whether a piece is on its way, and how often one has moved on.
  bool moving() const { return under_way_; }
  std::uint64_t moves() const { return moves_; }

 private:
  std::size_t elements() const { return rounds_.board().shape.elements; }
  std::size_t length_of_pieces(std::size_t machines) const;
  /// This machine's sum, once the elements up to `end` are there; else null.
  void* own_sum(std::size_t end, board::Time now);
  /// Whether the sum of all machines takes the place of this one's.
  bool in_place() const { return only_.spare && sum_.by_parts(); }

  partial::MachineRounds& rounds_;
  agent::TaskContext& context_;
  const std::size_t piece_;  ///< Elements that go over the fabric at once: the same everywhere.
  /// Where this machine's sum is if a single rank of it contributes and it need not be divided.
  partial::MachineRounds::OnlyShare only_;
  std::size_t begun_ = 0;   ///< Elements whose reduction over the machines has begun.
  fabric::MachineSum sum_;  ///< Of pieces.
  bool under_way_ = false;  ///< The piece that was begun last.
  std::uint64_t moves_ = 0;
  board::Stall stall_;
};

}  // namespace syncopate::detail
