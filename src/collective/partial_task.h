// What the agent does for one partial allreduce: agrees with the other machines when a round is on,
// takes what is on the board, reduces it with what they took, and publishes the result.
#pragma once

#include <memory>
#include <vector>

#include "board/machine_board.h"
#include "collective/agent.h"
#include "collective/machine_sum.h"
#include "collective/waiting.h"
#include "round/agreement.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

class Region;

class PartialTask final : public Agent::Task {
 public:
  /// `region` is where the ranks of this machine have the collective.
  PartialTask(Agent::Means means, std::shared_ptr<Region> region, const board::PartialShape& shape,
              const PartialOptions& options, fabric::Combine combine);

  Agent::Time work(Agent::Time now) override;
  void hear(int from, std::span<const std::byte> bytes) override;
  bool urgent() const override { return phase_ != Phase::agreeing || own_.waits; }
  bool moving() const override { return gathering_ == nullptr && under_way_; }
  std::uint64_t moves() const override { return moves_; }
  RankSet awaited() const override { return agreement_.missing(); }
  bool over() const override { return over_; }

 private:
  enum class Phase { agreeing, exchanging };
  /// What a machine tells the others of a round, but for the sets of ranks that follow it.
  struct Line {
    double weight = 0;
    std::uint64_t staleness = 0;
    std::uint64_t seen = 0;
    std::int64_t newest_at = 0;  ///< When its last contributor came, by the wall clock.
    std::int64_t step_time = 0;  ///< The median of its ranks.
    std::uint32_t dropped = 0;
    std::uint32_t parting_drops = 0;
    int newest = -1;      ///< By its number in the world.
    int slowest = -1;     ///< Within the machine: who has seen no more than `seen`.
    int held_up_by = -1;  ///< Whose lag held the round up, by its number in the world.
    int contributors = 0;
  };
  enum Set { contributors, reporters, parting_reporters, counting, sets };

  void note_least_seen(round::Facts& facts) const;
  round::Facts facts();
  Duration grace() const;
  void post();
  void begin();
  void open(double divisor);
  /// What the machines have sent with their lines.
  void add_up_gathered();
  void advance_pieces(Agent::Time now);
  void overcome_stall(board::AttemptWord attempt, Agent::Time now);
  void conclude(Agent::Time now);
  double divisor() const;
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
  Line line(int machine) const;
  std::uint64_t* set(std::byte* line, Set which) const;
  bool in_set(int machine, Set which, int rank) const;

  Agent::Means means_;
  std::shared_ptr<Region> region_;
  board::PartialShape shape_;
  PartialOptions options_;
  board::MachineBoard board_;
  std::vector<std::vector<int>> ranks_of_;  ///< World numbers of each machine's ranks.
  std::size_t set_words_;
  std::size_t line_bytes_;    ///< Of what a machine tells the others …
  std::size_t values_bytes_;  ///< … and its sum, which goes with it if it is short; otherwise 0.
  round::Agreement agreement_;
  round::Facts own_;
  Duration typical_step_{0};
  std::int64_t wall_clock_ahead_;  ///< Of the host's, for what machines compare.

  Phase phase_ = Phase::agreeing;
  std::vector<std::byte> mine_;
  std::vector<std::byte> lines_;
  std::unique_ptr<fabric::Operation> gathering_;
  bool opened_ = false;
  std::size_t piece_;      ///< Elements that go over the fabric at once: the same everywhere.
  std::size_t begun_ = 0;  ///< Elements whose reduction over the machines has begun.
  /// Where this machine's sum is if a single rank of it contributes and it need not be divided.
  board::MachineBoard::OnlyShare direct_;
  MachineSum sum_;          ///< Of pieces.
  bool under_way_ = false;  ///< The piece that was begun last.
  std::uint64_t moves_ = 0;
  StallWatch stall_;
  bool over_ = false;
};

}  // namespace syncopate::detail
