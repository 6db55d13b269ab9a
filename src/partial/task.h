// What the agent does for one partial allreduce: agrees with the other machines when a round is on,
// takes what is on the board, reduces it with what they took, and publishes the result.
#pragma once

#include <memory>
#include <optional>

#include "agent/task.h"
#include "board/wait.h"
#include "fabric/machine_sum.h"
#include "partial/machine_rounds.h"
#include "partial/round_report.h"
#include "partial/staged_sum.h"
#include "round/agreement.h"
#include "round/machines.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::board {
class Region;
}  // namespace syncopate::board

namespace syncopate::detail {

class PartialTask final : public agent::AgentTask {
 public:
  /// `region` is where the ranks of this machine have the collective.
  PartialTask(agent::TaskContext context, std::shared_ptr<board::Region> region,
              const partial::Shape& shape, const PartialOptions& options, fabric::Combine combine);

  board::Time work(board::Time now) override;
  void hear(int from, std::span<const std::byte> bytes) override;
  bool urgent() const override { return state_ != State::agreeing || own_.waits; }
  bool moving() const override { return state_ == State::summing && sum_.moving(); }
  std::uint64_t moves() const override { return sum_.moves(); }
  RankSet awaited() const override { return agreement_.missing(); }
  bool over() const override { return over_; }

 private:
  /// Of the round agreement_.next(). Each state follows the one before; after the last, agreeing.
  enum class State {
    agreeing,    // the machines tell each other whether it may start; deposits stay on the board
    gathering,   // deposits are taken, reports are on their way; so may be the sum, if it can do
                 // without them
    summing,     // all reports are here; the sum over the machines is on its way
    publishing,  // the sum is here: the result and what the machines said go onto the board
  };

  void note_least_seen(round::Facts& facts) const;
  round::Facts facts();
  Duration grace() const;
  void post();
  /// agreeing → gathering.
  void take_part();
  /// Whether all reports are here.
  bool gathered(board::Time now);
  /// gathering → summing: what had to wait for the reports.
  void begin_summing();
  /// What the machines have sent with their reports.
  void add_up_gathered();
  /// publishing → agreeing.
  void publish(board::Time now);
  partial::Scaling scaling() const { return shape_.scaling(); }
  /// Of the sum over the machines; nothing if it depends on reports that are not here.
  std::optional<double> scale() const;
  /// Whether the sums go with the reports, as they are short.
  bool sums_with_reports() const { return reports_.values_bytes() > 0; }

  agent::TaskContext context_;
  std::shared_ptr<board::Region> region_;
  partial::Shape shape_;
  Grace grace_;
  partial::MachineRounds rounds_;
  RoundReports reports_;
  round::Agreement agreement_;
  round::Facts own_;
  Duration typical_step_{0};

  State state_ = State::agreeing;
  std::unique_ptr<fabric::Operation> gathering_;
  StagedSum sum_;
  bool over_ = false;
};

}  // namespace syncopate::detail
