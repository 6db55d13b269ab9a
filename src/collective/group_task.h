// What the agent does for one group average: runs the rounds of groups that span machines. (Those
// of groups on one machine are run by their members.)
//
// The machines of a group need no agreement on who starts: whoever does tells the others what it
// brings (Head), which starts the round with them too. When the heads of all are there, they
// sum up by parts (sum_by_parts.h). Every so many steps all ranks average together
// (group_together.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "board/machine_group_board.h"
#include "collective/agent.h"
#include "collective/group_exchange.h"
#include "collective/group_together.h"
#include "collective/sum_by_parts.h"
#include "syncopate/group_average.h"

namespace syncopate::detail {

class Region;

class GroupTask final : public Agent::Task {
 public:
  GroupTask(Agent::Means means, std::shared_ptr<Region> region, const board::GroupShape& shape,
            const GroupOptions& options);

  Agent::Time work(Agent::Time now) override;
  void hear(int from, std::span<const std::byte> message) override;
  bool urgent() const override { return waiting_since_ != board::kNever; }
  bool moving() const override { return moving_; }
  std::uint64_t moves() const override { return moves_ + together_.moves(); }
  RankSet awaited() const override { return missing_; }
  bool over() const override { return together_.over(); }

 private:
  using Key = std::pair<std::uint64_t, int>;  ///< Step and group.
  enum class Kind : std::uint8_t { head, here, ask, seen, who, missing };

  /// What a machine brings to a round.
  struct Head {
    std::uint64_t staleness = 0;
    std::vector<int> contributors;  ///< By their numbers in the world.
  };
  /// A round of a group that spans machines.
  struct Round {
    std::vector<int> machines;  ///< In increasing order.
    std::vector<int> members;   ///< Of this machine, counted within it.
    int most = 0;               ///< How many of its members a machine has at most.
    bool begun = false;         ///< What this machine brings is chosen, and the others were told.
    Agent::Time wanted_at = board::kNever;  ///< When a member of this machine first came.
    std::vector<bool> here;                 ///< Machines whose members have all come.
    bool told_here = false;
    std::map<int, Head> heads;      ///< By machine.
    int buffer = -1;                ///< Where the mean goes …
    std::vector<std::byte> unread;  ///< … or here, if no member of this machine is left.
    std::vector<std::byte> stage;   ///< This machine's sum.
    std::optional<SumByParts> sum;  ///< Once all heads are there.
  };
  /// What a local rank is at, kept so that it is worked out once.
  struct Whereabouts {
    std::uint64_t step = 0;
    std::optional<Key> spanning;
  };

  void look_at_ranks(Agent::Time now);
  Round& round_of(const Key& key, int member);
  board::Gathering where(const Key& key, const Round& round) const;
  bool all_here(const Key& key, const Round& round) const;
  Duration grace(const Round& round) const;
  Agent::Time start_at(const Key& key, Round& round, Agent::Time now);
  void begin(const Key& key, Round& round);
  bool advance(const Key& key, Round& round);
  void sum_up(const Key& key, Round& round);
  std::byte* result_of(Round& round) const;
  int tag(const Key& key) const;

  void learn_seen(int machine, std::uint64_t seen);
  void look_at_window();
  void answer_askers();
  /// Whoever waits for long finds out for whom.
  Agent::Time look_for_missing(Agent::Time now);
  void answer_who(int machine, std::uint64_t published, std::uint64_t seen);

  Agent::Means means_;
  std::shared_ptr<Region> region_;
  board::GroupShape shape_;
  GroupOptions options_;
  GroupPlan plan_;
  board::MachineGroupBoard board_;
  std::vector<int> seat_of_;
  std::size_t bytes_;
  std::vector<Whereabouts> whereabouts_;
  std::map<Key, Round> rounds_;

  std::vector<std::uint64_t> seen_;    ///< What every rank of each machine has seen.
  std::vector<std::uint64_t> asked_;   ///< The step for which each machine was asked last.
  std::vector<std::uint64_t> askers_;  ///< What each machine wants to hear that ours have seen.

  Agent::Time waiting_since_ = board::kNever;  ///< In what is under way now.
  std::pair<std::uint64_t, std::uint64_t> waiting_for_;
  bool asked_who_ = false;
  RankSet missing_;

  std::vector<int> everybody_;  ///< Of this machine.
  GroupTogether together_;
  bool moving_ = false;
  std::uint64_t moves_ = 0;
};

}  // namespace syncopate::detail
