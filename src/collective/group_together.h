// What the agent does for a group average every so many steps: all ranks of all machines average
// together. Nobody goes on before everybody has come.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "board/machine_group_board.h"
#include "collective/agent.h"
#include "collective/machine_sum.h"

namespace syncopate::detail {

/// What machines send each other for it has this tag and the next one.
inline constexpr int kTogetherTag = 0;

/// What a machine divides its sum of up to `members` weights by before it goes on its way: float16
/// may not hold it. A power of two, and no more than one machine needs, as small numbers lose bits
/// by it.
double reserve_of(DataType type, int members);

class GroupTogether {
 public:
  /// `every`: how many steps; 0: only to find out together when nobody is left.
  GroupTogether(Agent::Means& means, const board::GroupShape& shape,
                board::MachineGroupBoard& board, int every);

  /// Does what can be done; `rounds` of groups are under way on this machine. Returns when to look
  /// again without news.
  Agent::Time work(Agent::Time now, int rounds);
  /// What every rank of each machine has seen, as far as was heard since the last call.
  std::vector<std::pair<int, std::uint64_t>> take_news() { return std::exchange(news_, {}); }

  bool under_way() const { return phase_ != Phase::idle; }
  /// Whether vectors are on their way.
  bool moving() const { return phase_ == Phase::summing; }
  std::uint64_t moves() const { return moves_; }
  /// The step of the next time, or of the one under way.
  std::uint64_t step() const { return step_; }
  /// Nobody is left anywhere, and nothing is under way.
  bool over() const { return over_; }

 private:
  /// What a machine tells the others, and then the numbers of its contributors.
  struct Line {
    std::uint64_t step = 0;  ///< 0: nobody is left there.
    std::uint64_t staleness = 0;
    std::uint64_t seen = 0;
    int count = 0;
    int rounds = 0;  ///< Of groups, that are under way there.
  };
  enum class Phase { idle, gathering, summing };

  /// Returns false if there is no buffer at the moment.
  bool begin(int rounds);
  void sum_up();
  void conclude();
  Line line_of(int machine) const;
  static std::byte* numbers_of(std::byte* line) { return line + sizeof(Line); }

  Agent::Means& means_;
  board::GroupShape shape_;
  board::MachineGroupBoard& board_;
  std::uint64_t every_;
  std::uint64_t step_;
  std::vector<int> everybody_;  ///< Of this machine.
  int largest_ = 0;             ///< How many ranks a machine has at most.
  std::size_t line_bytes_;
  std::vector<std::byte> mine_;
  std::vector<std::byte> lines_;

  Phase phase_ = Phase::idle;
  board::MachineGroupBoard::Share share_;
  int buffer_ = -1;                ///< Where the mean goes …
  std::vector<std::byte> unread_;  ///< … or here, if nobody is left on this machine.
  std::vector<std::byte> stage_;   ///< This machine's sum.
  std::unique_ptr<fabric::Operation> gathering_;
  MachineSum sum_;
  std::uint64_t moves_ = 0;
  std::vector<std::pair<int, std::uint64_t>> news_;
  bool over_ = false;
};

}  // namespace syncopate::detail
