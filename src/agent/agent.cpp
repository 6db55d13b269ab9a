#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "fabric/machine_lost.h"

namespace syncopate::agent {
namespace {

using board::kNever;
using board::Time;

constexpr Time kSecond = 1'000'000'000;
/// How often ranks that wait are told for whom, for their messages.
constexpr Time kNoteAwaitedEvery = kSecond / 10;
/// What comes before the first answer may be told in the wrong order.
constexpr Time kLongestForTheTime = kSecond;

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
      timeout_(timeout.count()),
      peers_(topology.machines()),
      heartbeat_(topology.machine, topology.machines(), peers_),
      clock_(topology.machine),
      post_(*fabric_, topology_, bell, peers_, roster, platform),
      tasks_(*fabric_, std::move(source)),
      own_{.known_dead = std::vector<bool>(roster_.local_size())} {}

Agent::~Agent() = default;

std::string Agent::describe(int machine) const {
  RankSet ranks(topology_.ranks());
  for (int rank = 0; rank < topology_.ranks(); ++rank) {
    if (topology_.machine_of[rank] == machine) ranks.insert(rank);
  }
  return "machine " + topology_.addresses[machine] + " (" + base::names_of(ranks) + ")";
}

bool Agent::over(Time now) {
  if (failed_) return true;
  if (!tasks_.world_over()) return false;
  // The last rounds of the others may be under way. They end by themselves, as no rank counts
  // anymore, unless some machine knows nothing of them.
  at_.all_left = std::min(at_.all_left, now);
  return tasks_.idle() || now >= at_.all_left + timeout_;
}

Agent::Turn Agent::look_at_everything(Time now, bool rung) {
  add_task(now);
  const std::uint64_t calls = mailbox_.calls().read();
  const bool called = calls != std::exchange(own_.calls, calls);
  Turn turn{.told = receive(now)};
  if (failed_) return turn;
  for (const auto& [machine, way] : bell_.take_proven_ways()) {
    peers_.note_bell(machine);
    post_.send(machine, {.kind = Kind::way, .number = way});
  }
  // Not after a ring: the bell goes with signs of life, too, of which nothing follows.
  turn.news = called || turn.told;
  if (turn.news) at_.active = now;
  const bool looked = look_after_ranks(now);
  const TaskTable::Worked worked = tasks_.work(now, turn.news || rung || looked);
  turn.again_at = worked.again_at;
  turn.work = worked.work;
  at_.urgent_since = turn.work.urgent ? std::min(at_.urgent_since, now) : kNever;
  look_after_machines(now);
  look_for_the_end(now);
  note_awaited(now);
  return turn;
}

Agent::Turn Agent::turn(Time now, bool rung) {
  try {
    return look_at_everything(now, rung);
  } catch (const BadMessage& said) {
    fail(describe(said.machine()) + " sent what makes no sense: its message " + said.what(),
         "Start the same build of Syncopate on every machine; if they have it, look for damage: "
         "the network, the memory, another program in the job");
  } catch (const fabric::MachineLost& lost) {
    fail(describe(lost.machine()) + " " + lost.what(), kStartAgain);
  } catch (const std::exception& error) {
    fail(describe(topology_.machine) + ": " + error.what(), kStartAgain);
  }
  return {};
}

void Agent::hurry(Time now) {
  at_.active = now;
  tasks_.hurry();
}

bool Agent::can_tell_time(Time now) {
  if (clock_.known()) return true;
  if (at_.clock_asked == 0) {
    at_.clock_asked = now;
    post_.send(CommonClock::kMachine, {.kind = Kind::ping, .asked = platform_.now()});
  }
  return now >= at_.clock_asked + kLongestForTheTime;
}

void Agent::add_task(Time now) {
  // Receipts say who came last; so the time is known before the first collective is made.
  const bool in_time = can_tell_time(now);
  if (tasks_.made() > 0 && !in_time) return;
  tasks_.make_next([this](std::uint64_t number, std::unique_ptr<fabric::Channel> channel) {
    return TaskContext{.channel = std::move(channel),
                       .send =
                           [this, number](int machine, std::span<const std::byte> message) {
                             post_.send(machine,
                                        {.kind = Kind::task, .task = number, .rest = message});
                           },
                       .rouse = [this](int machine) { post_.rouse(machine); },
                       .topology = topology_,
                       .roster = roster_,
                       .mailbox = mailbox_,
                       .platform = platform_,
                       .clock = clock_};
  });
}

bool Agent::receive(Time now) {
  bool any = false;
  std::vector<std::byte> bytes;
  for (int from = fabric_->receive(bytes); from >= 0; from = fabric_->receive(bytes)) {
    const AgentMessage message = unpack_agent_message(bytes, from, topology_);
    peers_.note_heard(from, now, message.drowsy);
    any = any || message.kind == Kind::task || message.kind == Kind::dead;
    hear(from, message, now);
    if (failed_) return true;
  }
  return any;
}

void Agent::hear(int from, const AgentMessage& message, Time now) {
  switch (message.kind) {
    case Kind::task:
      return tasks_.deliver(message.task, from, topology_.machines(), message.rest);
    case Kind::ping: {
      post_.send(from, {.kind = Kind::pong, .asked = message.asked, .told = platform_.now()});
      const auto hops = heartbeat_.pass_on(now, message.number, timeout_);
      if (hops) ask_for_signs_of_life(now, *hops);
      return;
    }
    case Kind::pong:
      if (from == CommonClock::kMachine) clock_.note(message.asked, message.told, platform_.now());
      return;
    case Kind::bell:
      bell_.learn(from, message.rest);
      post_.tell_bell(from);
      return bell_.ring(from);  // So that it knows whether rings come through.
    case Kind::way:
      return bell_.prefer(from, message.number);
    case Kind::dead:
      return mailbox_.note_dead(message.number);
    case Kind::failure: {
      const std::string words(reinterpret_cast<const char*>(message.rest.data()),
                              message.rest.size());
      give_up(words, kStartAgain);
      if (!heartbeat_.watches_all()) tell_failure(words);  // A few hear it from the sender.
      return;
    }
  }
}

bool Agent::look_after_ranks(Time now) {
  if (now < board::later(own_.seen_at, platform_.look_after_every())) return false;
  own_.seen_at = now;
  roster_.look_after();
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (own_.known_dead[rank] || !roster_.dead(rank)) continue;
    own_.known_dead[rank] = true;
    post_.send_to_others({.kind = Kind::dead, .number = roster_.rank_of(rank)});
  }
  return true;
}

void Agent::look_after_machines(Time now) {
  const auto hops = heartbeat_.ask(now, at_.urgent_since, timeout_);
  if (hops) ask_for_signs_of_life(now, *hops);
}

void Agent::ask_for_signs_of_life(Time now, int hops) {
  if (const auto lost = heartbeat_.lost(now, timeout_)) {
    return fail(describe(*lost) + " has not answered for " +
                    std::to_string(peers_.silent_for(*lost, now) / kSecond) + " s",
                "Look at what became of it, or allow more time (SYNCOPATE_TIMEOUT, in "
                "seconds); training can go on from its last checkpoint");
  }
  for (const int machine : heartbeat_.watched()) {
    post_.send(machine, {.kind = Kind::ping, .number = hops, .asked = platform_.now()});
  }
}

void Agent::look_for_the_end(Time now) {
  if (roster_.expected(board::Roster::kAgentsRank)) return;
  at_.first_left = std::min(at_.first_left, now);
  if (now < std::max(at_.first_left, at_.active) + timeout_) return;
  // Others may have much to do yet; but where a wait was in vain, they may never get to it.
  for (int rank = 0; rank < roster_.local_size(); ++rank) {
    if (!board::waited_in_vain(roster_, rank)) continue;
    return fail(describe(topology_.machine) + " gave up: rank " +
                    std::to_string(roster_.rank_of(rank)) + " had waited in vain",
                kStartAgain);
  }
}

void Agent::note_awaited(Time now) {
  if (at_.urgent_since == kNever || now < at_.urgent_since + kNoteAwaitedEvery ||
      now < at_.awaited_told + kNoteAwaitedEvery) {
    return;
  }
  at_.awaited_told = now;
  RankSet awaited = tasks_.awaited(topology_.ranks());
  // A machine that does not answer cannot say which of its ranks are missing.
  for (const int machine : heartbeat_.watched()) {
    if (!heartbeat_.asked_since(at_.urgent_since)) break;
    if (!heartbeat_.overdue(machine, now, timeout_)) continue;
    for (int rank = 0; rank < topology_.ranks(); ++rank) {
      if (topology_.machine_of[rank] == machine) awaited.insert(rank);
    }
  }
  mailbox_.note_awaited(awaited);
}

void Agent::fail(const std::string& what_happened, const std::string& what_to_do) {
  give_up(what_happened, what_to_do);
  tell_failure(what_happened);
}

void Agent::give_up(const std::string& what_happened, const std::string& what_to_do) {
  failed_ = true;
  mailbox_.fail(what_happened, what_to_do);
}

void Agent::tell_failure(const std::string& what_happened) {
  const auto words = std::as_bytes(std::span(what_happened));
  for (const int machine : heartbeat_.watched()) {
    try {
      post_.send(machine, {.kind = Kind::failure, .rest = words});
    } catch (const std::exception&) {
      // The others are told all the same.
    }
  }
}

}  // namespace syncopate::agent
