// What the agent does for one partial allreduce: agrees with the other machines when a round is on,
// takes what is on the board, reduces it with what they took, and publishes the result.
#pragma once

#include <memory>
#include <vector>

#include "agent/task.h"
#include "board/wait.h"
#include "fabric/machine_sum.h"
#include "partial/machine_rounds.h"
#include "partial/round_report.h"
#include "round/agreement.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

class Region;

class PartialTask final : public AgentTask {
 public:
  /// `region` is where the ranks of this machine have the collective.
  PartialTask(TaskContext context, std::shared_ptr<Region> region, const partial::Shape& shape,
              const PartialOptions& options, fabric::Combine combine);

  board::Time work(board::Time now) override;
  void hear(int from, std::span<const std::byte> bytes) override;
  bool urgent() const override { return phase_ != Phase::agreeing || own_.waits; }
  bool moving() const override { return gathering_ == nullptr && under_way_; }
  std::uint64_t moves() const override { return moves_; }
  RankSet awaited() const override { return agreement_.missing(); }
  bool over() const override { return over_; }

 private:
  enum class Phase { agreeing, exchanging };

  void note_least_seen(round::Facts& facts) const;
  round::Facts facts();
  Duration grace() const;
  void post();
  void begin();
  void open(double divisor);
  /// What the machines have sent with their reports.
  void add_up_gathered();
  void advance_pieces(board::Time now);
  void overcome_stall(board::AttemptWord attempt, board::Time now);
  void conclude(board::Time now);
  double divisor() const;
  /// Whether it depends on what the machines say of the round.
  bool divisor_by_reports() const {
    return shape_.scale == Scale::contributors || shape_.scale == Scale::weight;
  }
  /// Whether what the machines say of the round is needed for it, and not there yet.
  bool divisor_unknown() const;
  /// Whether each machine divides its own sum by a power of two: sixteen bits of this kind may not
  /// hold it otherwise. The sum of all is then divided by the rest, and by all of it as on one
  /// board where no machine has more than one rank.
  bool divides_first() const {
    return shape_.type == DataType::float16 && shape_.scale != Scale::none;
  }
  double reserve() const;
  /// The same for one machine's sum alone, of deposits that weigh so much.
  double reserve_for(double weight) const;
  std::size_t length_of_pieces() const;
  /// Whether the sum of all machines takes the place of this one's.
  bool in_place() const { return direct_.spare && sum_.by_parts(); }
  bool all_begun() const { return begun_ == shape_.elements; }

  TaskContext context_;
  std::shared_ptr<Region> region_;
  partial::Shape shape_;
  PartialOptions options_;
  partial::MachineRounds rounds_;
  std::vector<std::vector<int>> ranks_of_;  ///< World numbers of each machine's ranks.
  /// Of the sum, which goes with what a machine tells the others if it is short; otherwise 0.
  std::size_t values_bytes_;
  round::Agreement agreement_;
  round::Facts own_;
  Duration typical_step_{0};

  Phase phase_ = Phase::agreeing;
  RoundReports reports_;
  std::unique_ptr<fabric::Operation> gathering_;
  bool opened_ = false;
  std::size_t piece_;      ///< Elements that go over the fabric at once: the same everywhere.
  std::size_t begun_ = 0;  ///< Elements whose reduction over the machines has begun.
  /// Where this machine's sum is if a single rank of it contributes and it need not be divided.
  partial::MachineRounds::OnlyShare direct_;
  MachineSum sum_;          ///< Of pieces.
  bool under_way_ = false;  ///< The piece that was begun last.
  std::uint64_t moves_ = 0;
  board::Stall stall_;
  bool over_ = false;
};

}  // namespace syncopate::detail
