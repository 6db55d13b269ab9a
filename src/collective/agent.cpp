#include "collective/agent.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "collective/make_task.h"
#include "collective/world_state.h"
#include "collective/world_task.h"
#include "syncopate/error.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::kStartAgain;
using board::Time;
using Parcel = Contacts::Parcel;

constexpr Time kSecond = 1'000'000'000;
constexpr Time kLookAfterRanksEvery = kSecond / 50;
/// How often ranks that wait are told for whom, for their messages.
constexpr Time kNoteAwaitedEvery = kSecond / 10;

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
             std::shared_ptr<board::Segment> segment, std::unique_ptr<board::Host> host,
             Duration timeout)
    : fabric_(std::move(fabric)),
      place_(place),
      segment_(std::move(segment)),
      control_(segment_->map(0, WorldState::control_bytes())),
      host_(std::move(host)),
      roster_(control_->data(), board::Roster::kAgentsRank, *host_),
      agency_(control_->data() + WorldState::agency_offset(), roster_, *host_),
      timeout_(timeout.count()),
      orders_{{.order = {.kind = Order::Kind::world}}},
      regions_(WorldState::control_bytes(), roster_.ranks()),
      bell_(place.machines(), place.machine, [this] { answer_bell(); }),
      told_bell_(place.machines()),
      known_dead_(roster_.ranks()),
      contacts_(place.machines()) {
  thread_ = std::thread([this] { run(); });
}

void Agent::finish() {
  if (!thread_.joinable()) return;
  agency_.call();
  thread_.join();
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
  return (tasks_.empty() && orders_.empty()) || now >= left_at_ + timeout_;
}

Time Agent::turn(Time now) {
  add_tasks();
  const std::uint64_t calls = agency_.calls().read();
  const bool called = calls != std::exchange(calls_, calls);
  const std::uint64_t nudges = nudges_.load();
  const bool nudged = nudges != std::exchange(nudges_seen_, nudges);
  if (nudged) rest_.note_ring();
  told_ = receive(now);
  if (failed_) return kNever;
  for (const auto& [machine, way] : bell_.take_proven_ways()) {
    contacts_.note_bell(machine);
    send(machine, say(Kind::way, machine).put(way).bytes());
  }
  // Not after a nudge: the bell goes with signs of life, too, of which nothing follows.
  if (called || told_) rest_.note_news(now);
  const bool looked = look_after_ranks(now);
  const bool news = called || nudged || told_ || looked;
  Time again_at = kNever;
  Rest::Work work{.urgent = opening_ != nullptr};
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    auto& [task, task_again_at] = at->second;
    if (news || now >= task_again_at) task_again_at = task->work(now);
    again_at = std::min(again_at, task_again_at);
    work.urgent = work.urgent || task->urgent();
    work.moving = work.moving || task->moving();
    work.moves += task->moves();
    at = task->over() ? tasks_.erase(at) : std::next(at);
  }
  rest_.note_work(now, work);
  look_after_machines(now);
  look_for_the_end(now);
  note_awaited(now);
  return again_at;
}

Time Agent::turn_or_fail(Time now) {
  try {
    return turn(now);
  } catch (const std::exception& error) {
    fail(describe(place_.machine) + ": " + error.what(), kStartAgain);
    return kNever;
  }
}

void Agent::run() {
  board::become_servant("syncopate agent");
  std::unique_lock lock(turn_);
  for (Time now = host_->now(); !over(now); now = host_->now()) {
    const Time again_at = turn_or_fail(now);
    if (over(now)) break;
    const Room here = room(now);
    const bool stay = rest_.awake(now, here, here.ranks + 1) && !driven_;
    if (stay) rest_.note_awake();
    sleeps_until_ = stay ? now : now + rest_.nap(now, again_at, here, contacts_.others_ring(now));
    const Time until = sleeps_until_;
    const std::uint64_t calls = calls_;
    const board::Watched nudges{.word = &nudges_, .seen = nudges_seen_};
    const auto rest = std::chrono::nanoseconds(Rest::while_driven(here));
    lock.unlock();
    if (stay) {
      host_->yield(host_->now());
    } else {
      agency_.calls().sleep(*host_, calls, until, nudges);
    }
    // Not on the event of calls, so that nobody who calls has to wake it.
    while (driven_) std::this_thread::sleep_for(rest);
    lock.lock();
  }
  if (!tasks_.empty()) leave_for_ever(std::move(tasks_));
  const auto fabric = std::move(fabric_);
  lock.unlock();  // Others may want to do the agent's work, and see that there is none left.
  opening_.reset();
  opened_.reset();
}

void Agent::answer_bell() {
  const std::unique_lock lock(turn_, std::try_to_lock);
  if (!lock) return nudge();
  const Time now = host_->now();
  if (fabric_ == nullptr || over(now)) return;
  rest_.note_ring();
  const Time again_at = turn_or_fail(now);
  // What it was about may come a moment later: then the agent has to look for it.
  hand_over(now, told_ ? again_at : now);
}

void Agent::hand_over(Time now, Time again_at) {
  if (over(now) || again_at < sleeps_until_) nudge();
}

void Agent::nudge() {
  nudges_.increment();
  agency_.calls().nudge(*host_);
}

void Agent::drive(const board::Event& event, std::uint64_t seen, Time until) {
  // Where others need the core, the agent's thread is more likely to get it, and to keep it.
  if (host_->crowded(host_->now())) return agency_.call();
  driven_ = true;
  const std::lock_guard lock(turn_);  // A turn of the agent is short, and its last for now.
  rest_.note_news(host_->now());
  for (auto& [number, charge] : tasks_) charge.again_at = 0;  // The rank has news for some.
  while (event.read() == seen) {
    const Time now = host_->now();
    if (now >= until || over(now)) break;
    const Time again_at = turn_or_fail(now);
    const bool news = event.read() != seen;
    // The agent's own thread rests meanwhile.
    const bool stay = !news && rest_.awake(now, room(now), roster_.ranks());
    const bool under_way = again_at <= now;
    if (!stay && (under_way || !news)) hand_over(now, again_at);
    if (!stay) break;
    host_->yield(host_->now());
  }
  driven_ = false;
}

void Agent::take(const Order& order, bool agreed) {
  if (order.kind == Order::Kind::nothing) return;
  // Ranks that have no room for a region count it too.
  const std::uint64_t offset = regions_.next(region_bytes(order, roster_));
  if (agreed && !order.refused) orders_.push_back({order, offset});
}

std::unique_ptr<Agent::Task> Agent::make(const Ordered& ordered, Means means) {
  const Order& order = ordered.order;
  if (order.kind == Order::Kind::world) {
    return std::make_unique<WorldTask>(
        std::move(means), [this](const Order& taken, bool agreed) { take(taken, agreed); });
  }
  auto region = std::make_shared<Region>(segment_, roster_, Region::agent_of(roster_),
                                         ordered.offset, region_bytes(order, roster_));
  return make_task(order, std::move(means), std::move(region));
}

void Agent::add_tasks() {
  if (orders_.empty()) return;
  if (opening_ == nullptr) opening_ = fabric_->open(opened_);
  if (!opening_->done()) return;
  opening_.reset();
  const std::uint64_t number = ++made_;
  const Ordered next = orders_.front();
  orders_.pop_front();
  const auto send = [this, number](int machine, std::span<const std::byte> message) {
    post(number, machine, message);
  };
  tasks_[number].task = make(next, {.channel = std::move(opened_),
                                    .send = send,
                                    .rouse = [this](int machine) { rouse(machine); },
                                    .place = place_,
                                    .roster = roster_,
                                    .agency = agency_,
                                    .host = *host_});
  const auto early = early_.extract(number);
  if (early.empty()) return;
  for (const auto& [from, message] : early.mapped()) deliver(number, from, message);
}

void Agent::post(std::uint64_t task, int machine, std::span<const std::byte> message) {
  send(machine, say(Kind::task, machine).put(task).put_bytes(message).bytes());
}

fabric::Packer Agent::say(Kind kind, int machine) {
  const Head head{.kind = kind, .drowsy = host_->crowded(host_->now())};
  contacts_.note_told(machine, head.drowsy);
  return std::move(fabric::Packer().put(head));
}

void Agent::send(int machine, std::span<const std::byte> message) {
  tell_bell(machine);
  fabric_->send(machine, message);
  const Time now = host_->now();
  const bool ring = contacts_.should_ring(machine, Parcel::message, now, room(now));
  contacts_.note_sent(machine, now);
  if (ring) bell_.ring(machine);
}

void Agent::rouse(int machine) {
  const Time now = host_->now();
  if (contacts_.should_ring(machine, Parcel::data, now, room(now))) bell_.ring(machine);
}

void Agent::tell_bell(int machine) {
  if (told_bell_[machine]) return;
  told_bell_[machine] = true;
  fabric_->send(machine, say(Kind::bell, machine).put_bytes(bell_.address()).bytes());
}

void Agent::deliver(std::uint64_t task, int from, std::span<const std::byte> message) {
  if (task > made_) {  // This machine has yet to hear of it from its ranks.
    early_[task].emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
  } else if (const auto found = tasks_.find(task); found != tasks_.end()) {
    found->second.task->hear(from, message);
  }
}

bool Agent::receive(Time now) {
  bool any = false;
  std::vector<std::byte> message;
  for (int from = fabric_->receive(message); from >= 0; from = fabric_->receive(message)) {
    fabric::Unpacker unpacker(message);
    const auto [kind, drowsy] = unpacker.take<Head>();
    contacts_.note_heard(from, now, drowsy);
    any = any || kind == Kind::task || kind == Kind::dead;
    switch (kind) {
      case Kind::task: {
        const auto task = unpacker.take<std::uint64_t>();
        deliver(task, from, unpacker.rest());
        break;
      }
      case Kind::ping:
        send(from, say(Kind::pong, from).bytes());
        break;
      case Kind::pong:
        break;
      case Kind::bell:
        bell_.learn(from, unpacker.rest());
        tell_bell(from);
        bell_.ring(from);  // So that it knows whether rings come through.
        break;
      case Kind::way:
        bell_.prefer(from, unpacker.take<int>());
        break;
      case Kind::dead:
        agency_.note_dead(unpacker.take<int>());
        break;
      case Kind::failure: {
        const auto words = unpacker.rest();
        failed_ = true;
        agency_.fail(std::string(reinterpret_cast<const char*>(words.data()), words.size()),
                     kStartAgain);
        return true;
      }
    }
  }
  return any;
}

bool Agent::look_after_ranks(Time now) {
  if (now < ranks_seen_at_ + kLookAfterRanksEvery) return false;
  ranks_seen_at_ = now;
  roster_.look_after();
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    if (known_dead_[rank] || !roster_.dead(rank)) continue;
    known_dead_[rank] = true;
    for (int machine = 0; machine < place_.machines(); ++machine) {
      if (machine == place_.machine) continue;
      send(machine, say(Kind::dead, machine).put(roster_.number(rank)).bytes());
    }
  }
  return true;
}

void Agent::look_after_machines(Time now) {
  const SignsOfLife::Ask ask = signs_of_life_.ask(now, rest_.urgent_since(), timeout_);
  if (ask == SignsOfLife::Ask::no) return;
  for (int machine = 0; machine < place_.machines(); ++machine) {
    if (machine == place_.machine) continue;
    if (ask == SignsOfLife::Ask::first) contacts_.expect(machine, now);
    const Time silent_for = contacts_.silent_for(machine, now);
    if (SignsOfLife::lost(silent_for, timeout_)) {
      return fail(describe(machine) + " has not answered for " +
                      std::to_string(silent_for / kSecond) + " s",
                  "Look at what became of it, or allow more time (SYNCOPATE_TIMEOUT, in "
                  "seconds); training can go on from its last checkpoint");
    }
    send(machine, say(Kind::ping, machine).bytes());
  }
}

void Agent::look_for_the_end(Time now) {
  if (roster_.expected(board::Roster::kAgentsRank)) return;
  gone_at_ = std::min(gone_at_, now);
  if (now < std::max(gone_at_, rest_.active_at()) + timeout_) return;
  // Others may have much to do yet; but where a wait was in vain, they may never get to it.
  for (int rank = 0; rank < roster_.ranks(); ++rank) {
    if (!roster_.waited_in_vain(rank)) continue;
    return fail(describe(place_.machine) + " gave up: rank " +
                    std::to_string(roster_.number(rank)) + " had waited in vain",
                kStartAgain);
  }
}

void Agent::note_awaited(Time now) {
  if (rest_.urgent_since() == kNever || now < rest_.urgent_since() + kNoteAwaitedEvery ||
      now < awaited_at_ + kNoteAwaitedEvery) {
    return;
  }
  awaited_at_ = now;
  RankSet awaited(place_.ranks());
  for (const auto& [number, charge] : tasks_) {
    if (!charge.task->urgent()) continue;  // Nobody waits there, whoever is not there.
    for (const int rank : charge.task->awaited().list()) awaited.insert(rank);
  }
  // A machine that does not answer cannot say which of its ranks are missing.
  for (int rank = 0; rank < place_.ranks(); ++rank) {
    const int machine = place_.machine_of[rank];
    if (machine == place_.machine || !signs_of_life_.asked_since(rest_.urgent_since())) continue;
    if (SignsOfLife::overdue(contacts_.silent_for(machine, now), timeout_)) awaited.insert(rank);
  }
  agency_.note_awaited(awaited);
}

void Agent::fail(const std::string& what_happened, const std::string& what_to_do) {
  failed_ = true;
  agency_.fail(what_happened, what_to_do);
  const auto* words = reinterpret_cast<const std::byte*>(what_happened.data());
  for (int machine = 0; machine < place_.machines(); ++machine) {
    if (machine == place_.machine) continue;
    try {
      send(machine, say(Kind::failure, machine).put_bytes({words, what_happened.size()}).bytes());
    } catch (const std::exception&) {
      // Whoever can be told is told.
    }
  }
}

}  // namespace syncopate::detail
