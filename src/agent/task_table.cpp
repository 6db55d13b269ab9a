#include "agent/task_table.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "base/bad_message.h"

namespace syncopate::agent {
namespace {

/// Messages of a machine for a collective that this one is about to make. There are a few.
constexpr std::size_t kMostEarly = 4096;

/// What is under way may still write to memory of the tasks and of the board, and nothing can stop
/// it: a fabric cannot take back what it has begun.
template <typename Tasks>
void leave_for_ever(Tasks tasks) {
  static std::mutex mutex;
  static auto* const remains = new std::vector<Tasks>;
  const std::lock_guard lock(mutex);
  remains->push_back(std::move(tasks));
}

}  // namespace

TaskTable::~TaskTable() {
  if (!tasks_.empty()) leave_for_ever(std::move(tasks_));
}

void TaskTable::make_next(const MakeContext& make_context) {
  if (!waiting()) return;
  if (opening_ == nullptr) opening_ = fabric_.open(opened_);
  if (!opening_->done()) return;
  opening_.reset();
  const std::uint64_t number = ++made_;
  tasks_[number].task = source_->make(make_context(number, std::move(opened_)));
  const auto early = early_.extract(number);
  if (early.empty()) return;
  for (const auto& [from, message] : early.mapped()) tasks_[number].task->hear(from, message);
}

void TaskTable::deliver(std::uint64_t task, int from, int machines,
                        std::span<const std::byte> message) {
  if (task > made_) {  // This machine has yet to hear of it from its ranks.
    // All machines agree on an order before any of them takes the next one.
    if (task > made_ + source_->waiting() + 1) {
      throw BadMessage(from, "is for a collective that there is not");
    }
    auto& early = early_[task];
    if (early.size() >= kMostEarly * static_cast<std::size_t>(machines)) {
      throw BadMessage(from, "is one of too many for a collective that is being made");
    }
    early.emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
  } else if (const auto found = tasks_.find(task); found != tasks_.end()) {
    found->second.task->hear(from, message);
  }
}

void TaskTable::hurry() {
  for (auto& [number, scheduled] : tasks_) scheduled.again_at = 0;
}

TaskTable::Worked TaskTable::work(Time now, bool news) {
  Worked worked{.work = {.urgent = waiting()}};
  PollingPolicy::Work& work = worked.work;
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    auto& [task, again_at] = at->second;
    if (news || now >= again_at) again_at = task->work(now);
    worked.again_at = std::min(worked.again_at, again_at);
    work.urgent = work.urgent || task->urgent();
    work.moving = work.moving || task->moving();
    work.moves += task->moves();
    at = task->over() ? tasks_.erase(at) : std::next(at);
  }
  return worked;
}

RankSet TaskTable::awaited(int ranks) const {
  RankSet awaited(ranks);
  for (const auto& [number, scheduled] : tasks_) {
    if (!scheduled.task->urgent()) continue;  // No rank waits there.
    for (const int rank : scheduled.task->awaited().list()) awaited.insert(rank);
  }
  return awaited;
}

}  // namespace syncopate::agent
