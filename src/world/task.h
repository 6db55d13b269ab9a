// What the agent does for the world itself: whatever its ranks are about to do together, they agree
// on it with the ranks of all machines; and it notices when all have left.
//
// Where that takes long, machines that wait tell one of them, which changes from agreement to
// agreement. It asks the others and spreads who is missing (round/relay.h), at growing intervals:
// at most 7 M messages of M machines, however long the wait.
#pragma once

#include <memory>
#include <vector>

#include "agent/task.h"
#include "world/collective_spec.h"

namespace syncopate::world {

class WorldTask final : public agent::AgentTask {
 public:
  /// What the ranks order, and whether all of them did.
  using TakeOrder = std::function<void(const CollectiveSpec& order, bool agreed)>;

  WorldTask(agent::TaskContext context, TakeOrder take_order)
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
  /// The machine that finds out who is missing in this agreement, and tells the others.
  int coordinator() const {
    return static_cast<int>((number_ + 1) % static_cast<unsigned>(context_.topology.machines()));
  }
  bool coordinates() const { return coordinator() == context_.topology.machine; }
  board::Time look_for_missing(board::Time now);
  void note_waiting(int machine);
  void ask_others();
  void answer(int machine);
  void spread(const RankSet& ranks, int span);
  /// Throws BadMessage for what a machine cannot propose.
  void check_proposals() const;
  void conclude();

  agent::TaskContext context_;
  TakeOrder take_order_;
  std::uint64_t number_ = 0;  ///< Of the last agreement.
  MachineProposal mine_;
  std::vector<MachineProposal> proposals_;
  std::unique_ptr<fabric::Operation> gathering_;
  board::Time told_at_ = board::kNever;    ///< When to tell that this machine waits.
  board::Time asked_at_ = board::kNever;   ///< When the coordinator asked the others.
  std::vector<bool> waiting_;              ///< Machines that are known to it to wait.
  board::Time spread_at_ = board::kNever;  ///< When it may tell the others again, …
  int spreads_ = 0;                        ///< … how often it has, …
  RankSet spread_;                         ///< … and what.
  RankSet missing_;
  bool over_ = false;
};

}  // namespace syncopate::world
