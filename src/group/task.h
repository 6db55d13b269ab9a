// What the agent does for one group average: runs the rounds of groups that span machines. (Those
// of groups on one machine are run by their members.)
//
// The agreement says which rounds are on and passes around what each machine brings; when that of
// all is known, the machines of the group sum up by parts (sum_by_parts.h). Every so many steps all
// ranks average together (global_task.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "agent/task.h"
#include "fabric/sum_by_parts.h"
#include "group/global_task.h"
#include "group/machine_board.h"
#include "round/group_agreement.h"
#include "syncopate/group_average.h"

namespace syncopate::detail {

class Region;

class GroupTask final : public AgentTask {
 public:
  GroupTask(TaskContext context, std::shared_ptr<Region> region, const board::GroupShape& shape,
            const GroupOptions& options);

  board::Time work(board::Time now) override;
  void hear(int from, std::span<const std::byte> message) override;
  bool urgent() const override { return agreement_.somebody_waits(); }
  bool moving() const override { return moving_; }
  std::uint64_t moves() const override { return moves_ + global_.moves(); }
  RankSet awaited() const override { return agreement_.missing(); }
  bool over() const override { return agreement_.over(); }

 private:
  /// A round to which this machine has brought its share.
  struct Work {
    int buffer = -1;                ///< Where this machine's sum is, and then the mean …
    std::vector<std::byte> unread;  ///< … or here, if no member of this machine is left.
    std::optional<SumByParts> sum;  ///< Once all shares are known.
  };

  board::Time observe(board::Time now);
  std::vector<round::GroupFacts> facts();
  void post();
  board::LocalGroup where(const round::GroupRound& round) const;
  /// Returns false if there is no buffer at the moment.
  bool begin(const round::GroupRound& round);
  void* values(Work& work) const {
    return work.buffer >= 0 ? board_.values(work.buffer) : work.unread.data();
  }
  void sum_up(const round::GroupRound& round, Work& work);
  /// Returns whether the mean is published.
  bool advance(const round::GroupRound& round, Work& work);
  int tag(const round::GroupRound& round) const;

  TaskContext context_;
  std::shared_ptr<Region> region_;
  board::GroupShape shape_;
  board::MachineGroupBoard board_;
  round::GroupAgreement agreement_;
  std::size_t bytes_;
  std::map<round::GroupRound, Work> under_way_;
  GlobalTask global_;
  bool moving_ = false;
  std::uint64_t moves_ = 0;
};

}  // namespace syncopate::detail
