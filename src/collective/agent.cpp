#include "collective/agent.h"

#include <sched.h>

#include <algorithm>

#include "collective/world_state.h"
#include "collective/world_task.h"
#include "fabric/packet.h"
#include "syncopate/error.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Time;

constexpr Time kMillisecond = 1'000'000;
constexpr Time kSecond = 1'000 * kMillisecond;
constexpr Time kLookAfterRanksEvery = 20 * kMillisecond;
/// From here on whoever waits makes sure that the other machines answer.
constexpr Time kPingEvery = kSecond;
/// How often ranks that wait are told for whom, for their messages.
constexpr Time kNoteAwaitedEvery = 100 * kMillisecond;
/// How long the agent looks for messages without sleeping, after something has happened and while
/// somebody waits.
constexpr Time kAwakeOnFreeCores = 5 * kMillisecond;
constexpr Time kLongYield = kMillisecond / 50;
constexpr Time kAwakeOversubscribed = kMillisecond / 10;
/// Then it sleeps, longer and longer. The longest keeps an idle agent below 2 % of a core.
constexpr Time kShortestNap = kMillisecond / 20;
constexpr Time kLongestNap = kMillisecond / 2;

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

Agent::Agent(std::unique_ptr<fabric::Fabric> fabric, const fabric::Place& place,
             std::shared_ptr<board::Mapping> control, std::unique_ptr<board::Host> host,
             Duration timeout)
    : fabric_(std::move(fabric)),
      place_(place),
      control_(std::move(control)),
      host_(std::move(host)),
      roster_(control_->data(), 0, *host_),
      agency_(control_->data() + WorldState::agency_offset(), roster_, *host_),
      timeout_(timeout.count()),
      crowded_(roster_.ranks() + 1 > roster_.cores()),
      known_dead_(roster_.ranks()),
      heard_(place.machines()) {
  makers_.push_back([](Means means) { return std::make_unique<WorldTask>(std::move(means)); });
  thread_ = std::thread([this] { run(); });
}

Agent::~Agent() {
  agency_.call();
  thread_.join();
}

void Agent::add(Maker maker) {
  {
    const std::lock_guard lock(mutex_);
    makers_.push_back(std::move(maker));
  }
  agency_.call();
}

std::string Agent::describe(int machine) const {
  RankSet ranks(place_.ranks());
  for (int rank = 0; rank < place_.ranks(); ++rank) {
    if (place_.machine_of[rank] == machine) ranks.insert(rank);
  }
  return "machine " + place_.addresses[machine] + " (rank" + (ranks.size() > 1 ? "s " : " ") +
         to_string(ranks) + ")";
}

bool Agent::over(Time now) {
  if (failed_) return true;
  // The task of the world is the first, and ends when every rank of every machine has left.
  if (made_ == 0 || tasks_.find(1) != tasks_.end()) return false;
  // The last rounds of the others may be under way. They end by themselves, as nobody counts
  // anymore, unless some machine knows nothing of them.
  left_at_ = std::min(left_at_, now);
  return tasks_.empty() || now >= left_at_ + timeout_;
}

void Agent::run() {
  try {
    for (Time now = host_->now(); !over(now); now = host_->now()) {
      const std::uint64_t calls = agency_.calls().read();
      add_tasks();
      receive(now);
      Time again_at = kNever;
      bool urgent = opening_ != nullptr;
      for (auto at = tasks_.begin(); at != tasks_.end();) {
        again_at = std::min(again_at, at->second->work(now));
        urgent = urgent || at->second->urgent();
        at = at->second->over() ? tasks_.erase(at) : std::next(at);
      }
      urgent_since_ = urgent ? std::min(urgent_since_, now) : kNever;
      look_after_ranks(now);
      look_after_machines(now);
      note_awaited(now);
      if (!over(now)) pause(calls, again_at);
    }
  } catch (const std::exception& error) {
    fail(error.what(), "Start the job again; training can go on from its last checkpoint");
  }
  if (!tasks_.empty()) leave_for_ever(std::move(tasks_));
  opening_.reset();
  opened_.reset();
  fabric_.reset();
}

void Agent::add_tasks() {
  if (opening_ == nullptr) {
    const std::lock_guard lock(mutex_);
    if (makers_.empty()) return;
    making_ = std::move(makers_.front());
    makers_.pop_front();
    opening_ = fabric_->open(opened_);
  }
  if (!opening_->done()) return;
  opening_.reset();
  const std::uint64_t number = ++made_;
  tasks_[number] = making_({.channel = std::move(opened_),
                            .send =
                                [this, number](int machine, std::span<const std::byte> message) {
                                  post(number, machine, message);
                                },
                            .place = place_,
                            .roster = roster_,
                            .agency = agency_,
                            .host = *host_});
  making_ = nullptr;  // It holds memory that is given back with the task.
  const auto early = early_.extract(number);
  if (early.empty()) return;
  for (const auto& [from, message] : early.mapped()) deliver(number, from, message);
}

void Agent::post(std::uint64_t task, int machine, std::span<const std::byte> message) {
  fabric_->send(machine, fabric::Packer().put(Kind::task).put(task).put_bytes(message).bytes());
}

void Agent::deliver(std::uint64_t task, int from, std::span<const std::byte> message) {
  if (task > made_) {  // This machine has yet to hear of it from its ranks.
    early_[task].emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
  } else if (const auto found = tasks_.find(task); found != tasks_.end()) {
    found->second->hear(from, message);
  }
}

void Agent::receive(Time now) {
  std::vector<std::byte> message;
  for (int from = fabric_->receive(message); from >= 0; from = fabric_->receive(message)) {
    heard_[from] = now;
    active_at_ = now;
    fabric::Unpacker unpacker(message);
    switch (unpacker.take<Kind>()) {
      case Kind::task: {
        const auto task = unpacker.take<std::uint64_t>();
        deliver(task, from, unpacker.rest());
        break;
      }
      case Kind::ping:
        fabric_->send(from, fabric::Packer().put(Kind::pong).bytes());
        break;
      case Kind::pong:
        break;
      case Kind::dead:
        agency_.note_dead(unpacker.take<int>());
        break;
      case Kind::failure: {
        const auto words = unpacker.rest();
        failed_ = true;
        agency_.fail(std::string(reinterpret_cast<const char*>(words.data()), words.size()),
                     "Start the job again; training can go on from its last checkpoint");
        return;
      }
    }
  }
}

void Agent::look_after_ranks(Time now) {
  if (now < ranks_seen_at_ + kLookAfterRanksEvery) return;
  ranks_seen_at_ = now;
  roster_.look_after();
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    if (known_dead_[rank] || !roster_.dead(rank)) continue;
    known_dead_[rank] = true;
    for (int machine = 0; machine < place_.machines(); ++machine) {
      if (machine == place_.machine) continue;
      fabric_->send(machine, fabric::Packer().put(Kind::dead).put(roster_.number(rank)).bytes());
    }
  }
}

void Agent::look_after_machines(Time now) {
  if (urgent_since_ == kNever || now < urgent_since_ + kPingEvery) return;
  if (now < pinged_at_ + kPingEvery) return;
  const bool first = pinged_at_ < urgent_since_;
  pinged_at_ = now;
  for (int machine = 0; machine < place_.machines(); ++machine) {
    if (machine == place_.machine) continue;
    // Nothing was expected of it before now.
    if (first) heard_[machine] = std::max(heard_[machine], now);
    const Time silent_for = now - heard_[machine];
    if (silent_for >= timeout_) {
      return fail(describe(machine) + " has not answered for " +
                      std::to_string(silent_for / kSecond) + " s",
                  "Look at what became of it, or allow more time (SYNCOPATE_TIMEOUT, in "
                  "seconds); training can go on from its last checkpoint");
    }
    fabric_->send(machine, fabric::Packer().put(Kind::ping).bytes());
  }
}

void Agent::note_awaited(Time now) {
  if (urgent_since_ == kNever || now < urgent_since_ + kNoteAwaitedEvery ||
      now < awaited_at_ + kNoteAwaitedEvery) {
    return;
  }
  awaited_at_ = now;
  RankSet awaited(place_.ranks());
  for (const auto& [number, task] : tasks_) {
    for (const int rank : task->awaited().list()) awaited.insert(rank);
  }
  // A machine that does not answer cannot say which of its ranks are missing.
  for (int rank = 0; rank < place_.ranks(); ++rank) {
    const int machine = place_.machine_of[rank];
    if (machine == place_.machine || pinged_at_ < urgent_since_) continue;
    if (now - heard_[machine] >= 2 * kPingEvery) awaited.insert(rank);
  }
  agency_.note_awaited(awaited);
}

void Agent::pause(std::uint64_t calls, Time until) {
  const Time now = host_->now();
  if (agency_.calls().read() != calls) active_at_ = now;
  const bool urgent = urgent_since_ != kNever;
  const Time lively = urgent ? std::max(active_at_, urgent_since_) : active_at_;
  if (now < lively + (!crowded_ ? kAwakeOnFreeCores : urgent ? kAwakeOversubscribed : 0)) {
    nap_ = kShortestNap;
    sched_yield();
    // Others on this host may need the core, of this world or not: then the yield takes long.
    if (host_->now() > now + kLongYield) crowded_ = true;
    return;
  }
  if (now >= until) return;
  agency_.calls().sleep(*host_, calls, std::min(until, now + nap_));
  nap_ = std::min(2 * nap_, kLongestNap);
}

void Agent::fail(const std::string& what_happened, const std::string& what_to_do) {
  failed_ = true;
  agency_.fail(what_happened, what_to_do);
  const auto* words = reinterpret_cast<const std::byte*>(what_happened.data());
  for (int machine = 0; machine < place_.machines(); ++machine) {
    if (machine == place_.machine) continue;
    try {
      fabric_->send(
          machine,
          fabric::Packer().put(Kind::failure).put_bytes({words, what_happened.size()}).bytes());
    } catch (const std::exception&) {
      // Whoever can be told is told.
    }
  }
}

}  // namespace syncopate::detail
