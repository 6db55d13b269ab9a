#include "agent/agent.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/text.h"

namespace syncopate::detail {
namespace {

using board::kNever;
using board::Time;
using Traffic = PeerActivity::Traffic;

constexpr Time kSecond = 1'000'000'000;
/// How often ranks that wait are told for whom, for their messages.
constexpr Time kNoteAwaitedEvery = kSecond / 10;
/// What comes before the first answer may be told in the wrong order.
constexpr Time kLongestForTheTime = kSecond;
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

Agent::Agent(std::unique_ptr<fabric::Fabric> fabric, const fabric::Topology& topology,
             board::Roster& roster, AgentMailbox& mailbox, board::Platform& platform,
             fabric::Bell& bell, std::unique_ptr<TaskSource> source, Duration timeout)
    : fabric_(std::move(fabric)),
      topology_(topology),
      roster_(roster),
      mailbox_(mailbox),
      platform_(platform),
      bell_(bell),
      source_(std::move(source)),
      timeout_(timeout.count()),
      told_bell_(topology.machines()),
      known_dead_(roster_.local_size()),
      peers_(topology.machines()),
      clock_(topology.machine) {}

Agent::~Agent() {
  if (!tasks_.empty()) leave_for_ever(std::move(tasks_));
}

std::string Agent::describe(int machine) const {
  RankSet ranks(topology_.ranks());
  for (int rank = 0; rank < topology_.ranks(); ++rank) {
    if (topology_.machine_of[rank] == machine) ranks.insert(rank);
  }
  return "machine " + topology_.addresses[machine] + " (" + names_of(ranks) + ")";
}

bool Agent::over(Time now) {
  if (failed_) return true;
  // The task of the world is the first, and ends when every rank of every machine has left.
  if (made_ == 0 || tasks_.find(1) != tasks_.end()) return false;
  // The last rounds of the others may be under way. They end by themselves, as nobody counts
  // anymore, unless some machine knows nothing of them.
  left_at_ = std::min(left_at_, now);
  return (tasks_.empty() && source_->waiting() == 0) || now >= left_at_ + timeout_;
}

Time Agent::look_at_everything(Time now, bool rung) {
  add_task(now);
  const std::uint64_t calls = mailbox_.calls().read();
  const bool called = calls != std::exchange(calls_, calls);
  if (rung) polling_.note_ring();
  told_ = receive(now);
  if (failed_) return kNever;
  for (const auto& [machine, way] : bell_.take_proven_ways()) {
    peers_.note_bell(machine);
    send(machine, {.kind = Kind::way, .number = way});
  }
  // Not after a ring: the bell goes with signs of life, too, of which nothing follows.
  if (called || told_) polling_.note_news(now);
  const bool looked = look_after_ranks(now);
  const bool news = called || rung || told_ || looked;
  Time again_at = kNever;
  PollingPolicy::Work work{.urgent = source_->waiting() > 0};
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    auto& [task, task_again_at] = at->second;
    if (news || now >= task_again_at) task_again_at = task->work(now);
    again_at = std::min(again_at, task_again_at);
    work.urgent = work.urgent || task->urgent();
    work.moving = work.moving || task->moving();
    work.moves += task->moves();
    at = task->over() ? tasks_.erase(at) : std::next(at);
  }
  polling_.note_work(now, work);
  look_after_machines(now);
  look_for_the_end(now);
  note_awaited(now);
  return again_at;
}

Time Agent::turn(Time now, bool rung) {
  try {
    return look_at_everything(now, rung);
  } catch (const BadMessage& said) {
    fail(describe(said.machine()) + " sent what makes no sense: its message " + said.what(),
         "Start the same build of Syncopate on every machine; if they have it, look for damage: "
         "the network, the memory, another program in the job");
  } catch (const std::exception& error) {
    fail(describe(topology_.machine) + ": " + error.what(), kStartAgain);
  }
  return kNever;
}

void Agent::hurry() {
  for (auto& [number, scheduled] : tasks_) scheduled.again_at = 0;
}

bool Agent::can_tell_time(Time now) {
  if (clock_.known()) return true;
  if (clock_asked_at_ == 0) {
    clock_asked_at_ = now;
    send(CommonClock::kMachine, {.kind = Kind::ping, .asked = platform_.now()});
  }
  return now >= clock_asked_at_ + kLongestForTheTime;
}

void Agent::add_task(Time now) {
  // Receipts say who came last; so the time is known before the first collective is made.
  const bool in_time = can_tell_time(now);
  if (source_->waiting() == 0 || (made_ > 0 && !in_time)) return;
  if (opening_ == nullptr) opening_ = fabric_->open(opened_);
  if (!opening_->done()) return;
  opening_.reset();
  const std::uint64_t number = ++made_;
  const auto send_to_task = [this, number](int machine, std::span<const std::byte> message) {
    send(machine, {.kind = Kind::task, .task = number, .rest = message});
  };
  tasks_[number].task = source_->make({.channel = std::move(opened_),
                                       .send = send_to_task,
                                       .rouse = [this](int machine) { rouse(machine); },
                                       .topology = topology_,
                                       .roster = roster_,
                                       .mailbox = mailbox_,
                                       .platform = platform_,
                                       .clock = clock_});
  const auto early = early_.extract(number);
  if (early.empty()) return;
  for (const auto& [from, message] : early.mapped()) deliver(number, from, message);
}

std::vector<std::byte> Agent::say(int machine, AgentMessage message) {
  message.drowsy = platform_.crowded(platform_.now());
  peers_.note_told(machine, message.drowsy);
  return pack(message);
}

void Agent::send(int machine, const AgentMessage& message) {
  tell_bell(machine);
  fabric_->send(machine, say(machine, message));
  const Time now = platform_.now();
  const bool ring = peers_.should_ring(machine, Traffic::message, now, budget(now));
  peers_.note_sent(machine, now);
  if (ring) bell_.ring(machine);
}

void Agent::send_to_others(const AgentMessage& message) {
  for (int machine = 0; machine < topology_.machines(); ++machine) {
    if (machine != topology_.machine) send(machine, message);
  }
}

void Agent::rouse(int machine) {
  const Time now = platform_.now();
  if (peers_.should_ring(machine, Traffic::data, now, budget(now))) bell_.ring(machine);
}

void Agent::tell_bell(int machine) {
  if (told_bell_[machine]) return;
  told_bell_[machine] = true;
  fabric_->send(machine, say(machine, {.kind = Kind::bell, .rest = bell_.address()}));
}

void Agent::deliver(std::uint64_t task, int from, std::span<const std::byte> message) {
  if (task > made_) {  // This machine has yet to hear of it from its ranks.
    // All machines agree on an order before any of them takes the next one.
    if (task > made_ + source_->waiting() + 1) {
      throw BadMessage(from, "is for a collective that there is not");
    }
    auto& early = early_[task];
    if (early.size() >= kMostEarly * static_cast<std::size_t>(topology_.machines())) {
      throw BadMessage(from, "is one of too many for a collective that is being made");
    }
    early.emplace_back(from, std::vector<std::byte>(message.begin(), message.end()));
  } else if (const auto found = tasks_.find(task); found != tasks_.end()) {
    found->second.task->hear(from, message);
  }
}

bool Agent::receive(Time now) {
  bool any = false;
  std::vector<std::byte> bytes;
  for (int from = fabric_->receive(bytes); from >= 0; from = fabric_->receive(bytes)) {
    const AgentMessage message = unpack_agent_message(bytes, from, topology_);
    peers_.note_heard(from, now, message.drowsy);
    any = any || message.kind == Kind::task || message.kind == Kind::dead;
    hear(from, message);
    if (failed_) return true;
  }
  return any;
}

void Agent::hear(int from, const AgentMessage& message) {
  switch (message.kind) {
    case Kind::task:
      return deliver(message.task, from, message.rest);
    case Kind::ping:
      return send(from, {.kind = Kind::pong, .asked = message.asked, .told = platform_.now()});
    case Kind::pong:
      if (from == CommonClock::kMachine) clock_.note(message.asked, message.told, platform_.now());
      return;
    case Kind::bell:
      bell_.learn(from, message.rest);
      tell_bell(from);
      return bell_.ring(from);  // So that it knows whether rings come through.
    case Kind::way:
      return bell_.prefer(from, message.number);
    case Kind::dead:
      return mailbox_.note_dead(message.number);
    case Kind::failure: {
      const auto words = message.rest;
      failed_ = true;
      return mailbox_.fail(std::string(reinterpret_cast<const char*>(words.data()), words.size()),
                           kStartAgain);
    }
  }
}

bool Agent::look_after_ranks(Time now) {
  if (now < board::later(ranks_seen_at_, platform_.look_after_every())) return false;
  ranks_seen_at_ = now;
  roster_.look_after();
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (known_dead_[rank] || !roster_.dead(rank)) continue;
    known_dead_[rank] = true;
    send_to_others({.kind = Kind::dead, .number = roster_.rank_of(rank)});
  }
  return true;
}

void Agent::look_after_machines(Time now) {
  const Heartbeat::Ask ask = heartbeat_.ask(now, polling_.urgent_since(), timeout_);
  if (ask == Heartbeat::Ask::no) return;
  std::vector<int> awaited;
  for (const int rank : awaited_ranks().list()) awaited.push_back(topology_.machine_of[rank]);
  std::ranges::sort(awaited);
  const std::vector<int> before = std::exchange(
      watched_, Heartbeat::whom_to_watch(topology_.machine, topology_.machines(), awaited));
  for (const int machine : watched_) {
    const bool expected = std::ranges::binary_search(before, machine);
    if (ask == Heartbeat::Ask::first || !expected) peers_.expect(machine, now);
    const Time silent_for = peers_.silent_for(machine, now);
    if (Heartbeat::lost(silent_for, timeout_)) {
      return fail(describe(machine) + " has not answered for " +
                      std::to_string(silent_for / kSecond) + " s",
                  "Look at what became of it, or allow more time (SYNCOPATE_TIMEOUT, in "
                  "seconds); training can go on from its last checkpoint");
    }
    send(machine, {.kind = Kind::ping, .asked = platform_.now()});
  }
}

void Agent::look_for_the_end(Time now) {
  if (roster_.expected(board::Roster::kAgentsRank)) return;
  gone_at_ = std::min(gone_at_, now);
  if (now < std::max(gone_at_, polling_.active_at()) + timeout_) return;
  // Others may have much to do yet; but where a wait was in vain, they may never get to it.
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (!board::waited_in_vain(roster_, rank)) continue;
    return fail(describe(topology_.machine) + " gave up: rank " +
                    std::to_string(roster_.rank_of(rank)) + " had waited in vain",
                kStartAgain);
  }
}

RankSet Agent::awaited_ranks() const {
  RankSet awaited(topology_.ranks());
  for (const auto& [number, scheduled] : tasks_) {
    if (!scheduled.task->urgent()) continue;  // Nobody waits there, whoever is not there.
    for (const int rank : scheduled.task->awaited().list()) awaited.insert(rank);
  }
  return awaited;
}

void Agent::note_awaited(Time now) {
  if (polling_.urgent_since() == kNever || now < polling_.urgent_since() + kNoteAwaitedEvery ||
      now < awaited_at_ + kNoteAwaitedEvery) {
    return;
  }
  awaited_at_ = now;
  RankSet awaited = awaited_ranks();
  // A machine that does not answer cannot say which of its ranks are missing.
  for (int rank = 0; rank < topology_.ranks(); ++rank) {
    const int machine = topology_.machine_of[rank];
    const bool watched = std::ranges::binary_search(watched_, machine);
    if (!watched || !heartbeat_.asked_since(polling_.urgent_since())) continue;
    if (Heartbeat::overdue(peers_.silent_for(machine, now), timeout_)) awaited.insert(rank);
  }
  mailbox_.note_awaited(awaited);
}

void Agent::fail(const std::string& what_happened, const std::string& what_to_do) {
  failed_ = true;
  mailbox_.fail(what_happened, what_to_do);
  const auto* words = reinterpret_cast<const std::byte*>(what_happened.data());
  for (int machine = 0; machine < topology_.machines(); ++machine) {
    if (machine == topology_.machine) continue;
    try {
      send(machine, {.kind = Kind::failure, .rest = {words, what_happened.size()}});
    } catch (const std::exception&) {
      // Whoever can be told is told.
    }
  }
}

}  // namespace syncopate::detail
