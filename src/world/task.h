// What the agent does for the world itself: whatever its ranks are about to do together, they agree
// on it with the ranks of all machines; and it notices when all have left.
#pragma once

#include <memory>
#include <vector>

#include "agent/task.h"
#include "world/collective_spec.h"

namespace syncopate::detail {

class WorldTask final : public AgentTask {
 public:
  /// What the ranks order, and whether all of them did.
  using TakeOrder = std::function<void(const CollectiveSpec& order, bool agreed)>;

  WorldTask(TaskContext context, TakeOrder take_order)
      : context_(std::move(context)), take_order_(std::move(take_order)) {}

  board::Time work(board::Time now) override;
  void hear(int from, std::span<const std::byte> message) override;
  bool urgent() const override { return gathering_ != nullptr; }
  bool moving() const override { return false; }
  std::uint64_t moves() const override { return 0; }
  RankSet awaited() const override { return missing_; }
  bool over() const override { return over_; }

 private:
  /// What a machine's ranks propose.
  struct MachineProposal {
    int here = 0;    ///< How many ranks it has left; 0: it proposes nothing.
    int rank = -1;   ///< Who proposes, by its number in the world …
    int other = -1;  ///< … and who of the same machine proposes something else, if any.
    board::Proposal words{};
    board::Proposal other_words{};
    board::Attachment order{};
  };

  MachineProposal own_proposal() const;
  void ask_who_is_missing();
  /// Throws BadMessage for what a machine cannot propose.
  void check_proposals() const;
  void conclude();

  TaskContext context_;
  TakeOrder take_order_;
  std::uint64_t number_ = 0;  ///< Of the last agreement.
  MachineProposal mine_;
  std::vector<MachineProposal> proposals_;
  std::unique_ptr<fabric::Operation> gathering_;
  board::Time ask_at_ = board::kNever;  ///< When to find out for whom this machine waits.
  RankSet missing_;
  bool over_ = false;
};

}  // namespace syncopate::detail
