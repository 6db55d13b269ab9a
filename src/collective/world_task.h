// What the agent does for the world itself: whatever its ranks are about to do together, they agree
// on it with the ranks of all machines; and it notices when all have left.
#pragma once

#include <memory>
#include <vector>

#include "collective/agent.h"
#include "collective/order.h"

namespace syncopate::detail {

class WorldTask final : public Agent::Task {
 public:
  /// What the ranks order, and whether all of them did.
  using TakeOrder = std::function<void(const Order& order, bool agreed)>;

  WorldTask(Agent::Means means, TakeOrder take_order)
      : means_(std::move(means)), take_order_(std::move(take_order)) {}

  Agent::Time work(Agent::Time now) override;
  void hear(int from, std::span<const std::byte> message) override;
  bool urgent() const override { return gathering_ != nullptr; }
  bool moving() const override { return false; }
  std::uint64_t moves() const override { return 0; }
  RankSet awaited() const override { return missing_; }
  bool over() const override { return over_; }

 private:
  /// What a machine's ranks propose.
  struct Line {
    int here = 0;    ///< How many ranks it has left; 0: it proposes nothing.
    int rank = -1;   ///< Who proposes, by its number in the world …
    int other = -1;  ///< … and who of the same machine proposes something else, if any.
    board::Proposal words{};
    board::Proposal other_words{};
    board::Attachment order{};
  };

  enum class Kind : std::uint8_t { ask, missing };

  Line own_line() const;
  void ask_who_is_missing();
  void conclude();

  Agent::Means means_;
  TakeOrder take_order_;
  std::uint64_t number_ = 0;  ///< Of the last agreement.
  Line mine_;
  std::vector<Line> lines_;
  std::unique_ptr<fabric::Operation> gathering_;
  Agent::Time ask_at_ = board::kNever;  ///< When to find out for whom this machine waits.
  RankSet missing_;
  bool over_ = false;
};

}  // namespace syncopate::detail
