#include "group/global_task.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/bad_message.h"
#include "board/wait.h"

namespace syncopate::detail {

using board::Time;

double reserve_of(DataType type, int members) {
  return type == DataType::float16 ? std::exp2(std::ceil(std::log2(members))) : 1;
}

GlobalTask::GlobalTask(TaskContext& context, const board::GroupShape& shape,
                       board::MachineGroupBoard& board, round::GroupAgreement& agreement)
    : context_(context),
      shape_(shape),
      board_(board),
      agreement_(agreement),
      everybody_(shape.ranks),
      sum_(*context.channel, context.topology, shape.elements * size_of(shape.type),
           fabric::Combine::sum) {
  std::iota(everybody_.begin(), everybody_.end(), 0);
  std::vector<int> ranks(context_.topology.machines());
  for (const int machine : context_.topology.machine_of) ++ranks[machine];
  largest_ = *std::max_element(ranks.begin(), ranks.end());
  report_bytes_ = sizeof(MachineReport) + largest_ * sizeof(int);
  mine_.resize(report_bytes_);
  reports_.resize(report_bytes_ * context_.topology.machines());
}

Time GlobalTask::work(Time now) {
  if (phase_ == Phase::idle && agreement_.global_due() && !begin()) return now + board::kShortly;
  if (phase_ == Phase::gathering && gathering_->done()) sum_up();
  if (phase_ == Phase::summing && sum_.done(moves_)) conclude();
  return board::kNever;
}

bool GlobalTask::begin() {
  const round::GroupAgreement::MachineReport agreed = agreement_.report();
  share_ = {};
  if (agreed.step > 0) {
    if (buffer_ < 0) buffer_ = board_.reserve_result(where());
    if (buffer_ < 0) return false;
    share_ = board_.choose_all(where());
  }
  const MachineReport own{.agreed = agreed,
                          .staleness = share_.staleness,
                          .count = static_cast<int>(share_.contributors.size())};
  std::memcpy(mine_.data(), &own, sizeof own);
  for (std::size_t i = 0; i < share_.contributors.size(); ++i) {
    std::memcpy(mine_.data() + sizeof own + i * sizeof(int), &share_.contributors[i], sizeof(int));
  }
  gathering_ = context_.channel->gather(mine_.data(), report_bytes_, reports_.data());
  phase_ = Phase::gathering;
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
  phase_ = Phase::idle;
  if (agreement_.gather(agreed) == 0) return;
  if (buffer_ < 0) unread_.resize(shape_.elements * size_of(shape_.type));
  void* const values = buffer_ >= 0 ? board_.values(buffer_) : unread_.data();
  board::weighted_sum(shape_.type, shape_.elements, share_.terms,
                      1 / reserve_of(shape_.type, largest_), values);
  sum_.begin({.mine = values,
              .result = values,
              .elements = shape_.elements,
              .type = shape_.type,
              .scale = reserve_of(shape_.type, largest_) / std::max(contributors, 1)},
             kTogetherTag);
  phase_ = Phase::summing;
}

void GlobalTask::conclude() {
  std::vector<int> contributors;
  std::uint64_t staleness = 0;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    staleness = std::max(staleness, report_of(machine).staleness);
    const std::vector<int> theirs = contributors_of(machine);
    contributors.insert(contributors.end(), theirs.begin(), theirs.end());
  }
  if (buffer_ >= 0) {
    board_.publish_mean(where(), buffer_, contributors, staleness);
  }
  buffer_ = -1;
  agreement_.complete_global();
  phase_ = Phase::idle;
}

}  // namespace syncopate::detail
