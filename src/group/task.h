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
#include "group/machine_rounds.h"
#include "group/mean.h"
#include "round/group_agreement.h"
#include "syncopate/group_average.h"

namespace syncopate::board {
class Region;
}  // namespace syncopate::board

namespace syncopate::group {

class Task final : public agent::AgentTask {
 public:
  Task(agent::TaskContext context, std::shared_ptr<board::Region> region, const Shape& shape,
       const GroupOptions& options);

  Time work(Time now) override;
  void hear(int from, std::span<const std::byte> message) override;
  bool urgent() const override { return agreement_.missing().waits(); }
  bool moving() const override { return moving_; }
  std::uint64_t moves() const override { return moves_ + global_.moves(); }
  RankSet awaited() const override { return agreement_.missing().ranks(); }
  bool over() const override { return agreement_.over(); }

 private:
  /// A round to which this machine has brought its share. (Before that it is the agreement's: see
  /// GroupAgreement::started.)
  struct Work {
    enum class State {
      sharing,  // this machine's share is told; those of others are awaited
      summing,  // all shares are known; the machines sum up
      over,     // the mean is published
    };
    State state = State::sharing;
    MachineRounds::Reserved place;
    std::optional<fabric::SumByParts> sum;  ///< From `summing` on.
  };

  Time observe(Time now);
  std::vector<round::GroupFacts> facts();
  void post();
  LocalGroup where(const round::GroupRound& round) const;
  MeanOfMachines mean(const round::GroupRound& round) const;
  /// Returns false if there is no buffer at the moment.
  bool begin(const round::GroupRound& round);
  void advance(const round::GroupRound& round, Work& work);
  void sum_up(const round::GroupRound& round, Work& work);
  void conclude(const round::GroupRound& round, Work& work);
  int tag(const round::GroupRound& round) const;

  agent::TaskContext context_;
  std::shared_ptr<board::Region> region_;
  MachineRounds rounds_;
  round::GroupAgreement agreement_;
  std::map<round::GroupRound, Work> under_way_;
  GlobalTask global_;
  bool moving_ = false;
  std::uint64_t moves_ = 0;
};

}  // namespace syncopate::group
