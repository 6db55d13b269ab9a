#include "group/global_task.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/bad_message.h"
#include "board/wait.h"

namespace syncopate::group {

GlobalTask::GlobalTask(agent::TaskContext& context, MachineRounds& rounds,
                       round::GroupAgreement& agreement)
    : context_(context),
      rounds_(rounds),
      agreement_(agreement),
      all_ranks_(rounds.board().shape.ranks),
      sum_(*context.channel, context.topology, rounds.board().shape.vector_bytes(),
           fabric::Combine::sum) {
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  std::vector<int> ranks(context_.topology.machines());
  for (const int machine : context_.topology.machine_of) ++ranks[machine];
  largest_ = *std::max_element(ranks.begin(), ranks.end());
  report_bytes_ = sizeof(MachineReport) + largest_ * sizeof(int);
  mine_.resize(report_bytes_);
  reports_.resize(report_bytes_ * context_.topology.machines());
}

Time GlobalTask::work(Time now) {
  if (state_ == State::idle && agreement_.global_due() && !begin()) return now + board::kShortly;
  if (state_ == State::gathering && gathering_->done()) sum_up();
  if (state_ == State::summing && sum_.done(moves_)) conclude();
  return board::kNever;
}

bool GlobalTask::begin() {
  const round::GroupAgreement::MachineReport agreed = agreement_.report();
  share_ = {};
  if (agreed.step > 0) {
    if (!rounds_.reserve(where(), place_)) return false;
    share_ = rounds_.choose(where());
  }
  const MachineReport own{.agreed = agreed,
                          .staleness = share_.staleness,
                          .count = static_cast<int>(share_.contributors.size())};
  std::memcpy(mine_.data(), &own, sizeof own);
  for (std::size_t i = 0; i < share_.contributors.size(); ++i) {
    std::memcpy(mine_.data() + sizeof own + i * sizeof(int), &share_.contributors[i], sizeof(int));
  }
  gathering_ = context_.channel->gather(mine_.data(), report_bytes_, reports_.data());
  state_ = State::gathering;
  return true;
}

GlobalTask::MachineReport GlobalTask::report_of(int machine) const {
  MachineReport report;
  std::memcpy(&report, reports_.data() + machine * report_bytes_, sizeof report);
  return report;
}

std::vector<int> GlobalTask::contributors_of(int machine) const {
  const MachineReport report = report_of(machine);
  const std::vector<int>& machine_of = context_.topology.machine_of;
  if (report.count < 0 || report.count > largest_ || report.staleness > agreement_.global_step()) {
    throw BadMessage(machine, "brings more ranks, or older weights, than there are");
  }
  std::vector<int> ranks;
  for (int i = 0, last = -1; i < report.count; ++i) {
    int rank = 0;
    std::memcpy(&rank, reports_.data() + machine * report_bytes_ + sizeof report + i * sizeof rank,
                sizeof rank);
    if (rank <= last || rank >= context_.topology.ranks() || machine_of[rank] != machine) {
      throw BadMessage(machine, "names ranks that its machine has not, or out of their order");
    }
    ranks.push_back(last = rank);
  }
  return ranks;
}

void GlobalTask::sum_up() {
  gathering_.reset();
  ++moves_;
  std::vector<round::GroupAgreement::MachineReport> agreed;
  int contributors = 0;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    agreed.push_back(report_of(machine).agreed);
    contributors += static_cast<int>(contributors_of(machine).size());
  }
  state_ = State::idle;
  if (agreement_.gather(agreed) == 0) return;
  if (place_.buffer == kNoBuffer) rounds_.set_aside(place_);
  const Shape& shape = rounds_.board().shape;
  void* const values = rounds_.values(place_);
  board::weighted_sum(shape.type, shape.elements, share_.terms, mean().of_machine(), values);
  sum_.begin({.mine = values,
              .result = values,
              .elements = shape.elements,
              .type = shape.type,
              .scale = mean().of_all(contributors)},
             kGlobalTag);
  state_ = State::summing;
}

void GlobalTask::conclude() {
  MachineRounds::Said said;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    said.add(contributors_of(machine), report_of(machine).staleness);
  }
  rounds_.publish(where(), place_, said);
  place_.buffer = kNoBuffer;
  agreement_.complete({.step = agreement_.global_step()});
  state_ = State::idle;
}

}  // namespace syncopate::group
