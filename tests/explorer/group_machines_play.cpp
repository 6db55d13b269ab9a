#include "explorer/group_machines_play.h"

#include <algorithm>
#include <limits>

#include "explorer/machines_play.h"

namespace syncopate::testing {

using round::GroupFacts;
using round::GroupMessage;
using round::GroupRound;

GroupMachinesPlan GroupMachinesPlan::random(std::uint64_t seed, int most_machines,
                                            int most_ranks_each) {
  Random random(seed);
  GroupMachinesPlan plan{.machine_of = machines_of_ranks(random, most_machines, most_ranks_each)};
  GroupOptions& options = plan.options;
  options.group_size = random.between(1, static_cast<int>(plan.machine_of.size()));
  options.synchronize_every = random.one_in(2) ? 0 : random.between(1, 4);
  options.rotate = !random.one_in(4);
  options.trigger = random.one_in(3) ? all() : first();
  if (random.one_in(3)) options.grace = grace(Duration(random.between(1, 2'000'000)));
  options.window = random.between(1, 4);
  options.seed = seed;
  plan.steps = random.between(1, 6);
  plan.departures = random.one_in(2);
  return plan;
}

std::string GroupMachinesPlan::text() const {
  std::string machines;
  for (const int machine : machine_of) machines.append(" ").append(std::to_string(machine));
  return "groups of " + std::to_string(options.group_size) + (options.rotate ? "" : " that stay") +
         ", all together every " + std::to_string(options.synchronize_every) + ", trigger " +
         to_string(options.trigger) + ", grace " + to_string(options.grace) + ", window " +
         std::to_string(options.window) + ", " + std::to_string(steps) +
         (departures ? " steps with departures" : " steps") + ", machines of the ranks:" + machines;
}

GroupMachinesPlay::GroupMachinesPlay(const GroupMachinesPlan& plan, std::uint64_t seed)
    // A machine that waits for long asks all others: what that takes must not make more of them
    // ask.
    : RandomPlay(seed, 50 * static_cast<int>(plan.machine_of.size())),
      plan_(plan),
      groups_(static_cast<int>(plan.machine_of.size()), plan.options) {
  const int machines = *std::max_element(plan.machine_of.begin(), plan.machine_of.end()) + 1;
  for (int machine = 0; machine < machines; ++machine) {
    machines_.push_back({.agreement = {plan.options, plan.machine_of, machine}});
  }
  for (const int machine : plan.machine_of) {
    auto& ranks = machines_[machine].ranks;
    ranks.push_back(static_cast<int>(ranks_.size()));
    ranks_.push_back({.machine = machine,
                      .number = static_cast<int>(ranks.size()) - 1,
                      .steps_left = plan.steps});
  }
}

// Ranks.

void GroupMachinesPlay::act(int number) {
  Rank& rank = ranks_[number];
  Machine& machine = machines_[rank.machine];
  if (rank.dies || (plan_.departures && random_.one_in(12))) {
    rank.counts = false;
    rank.waits = false;
    machine.news = true;
  } else if (rank.seen < rank.published) {
    if (done(rank)) {
      rank.seen = rank.published;
      rank.waits = false;
      if (machine.blocked) machine.news = true;
      machine.blocked = false;
    } else {
      rank.waits = true;
      rank.dies = plan_.departures && random_.one_in(8);
      machine.news = true;
      Record& record = records_[rank.round];
      record.wanted_at = std::min(record.wanted_at, now_);
    }
  } else if (rank.steps_left == 0) {
    rank.counts = false;  // It leaves.
    machine.news = true;
  } else {
    publish(number);
    machine.news = true;
  }
}

void GroupMachinesPlay::publish(int number) {
  Rank& rank = ranks_[number];
  --rank.steps_left;
  const std::uint64_t step = ++rank.published;
  rank.round = {.step = step, .group = groups_.group_at(step, number)};
  const std::vector<int> members = groups_.members_at(step, number);
  rank.spans = groups_.everyone_at(step) ||
               std::any_of(members.begin(), members.end(),
                           [&](int other) { return ranks_[other].machine != rank.machine; });
}

/// Whether a rank could run the round of its group, which is on its machine.
bool GroupMachinesPlay::can_run(const Rank& rank, int number) const {
  if (!rank.counts || !rank.waits || rank.spans || done(rank)) return false;
  const GroupRound& round = rank.round;
  std::uint64_t slowest = machines_[rank.machine].elsewhere;
  for (const int other : machines_[rank.machine].ranks) {
    if (ranks_[other].counts) slowest = std::min(slowest, ranks_[other].seen);
  }
  if (slowest + static_cast<std::uint64_t>(plan_.options.window) < round.step) return false;
  if (plan_.options.trigger.kind != Trigger::Kind::all) return true;
  const std::vector<int> members = groups_.members_at(round.step, number);
  return std::all_of(members.begin(), members.end(), [&](int other) {
    return !ranks_[other].counts || ranks_[other].published >= round.step;
  });
}

// Machines.

std::vector<GroupFacts> GroupMachinesPlay::facts(const Machine& machine) const {
  std::vector<GroupFacts> result;
  for (const int number : machine.ranks) {
    const Rank& rank = ranks_[number];
    result.push_back({.counts = rank.counts,
                      .published = rank.published,
                      .seen = rank.seen,
                      .waits = rank.waits && !done(rank)});
  }
  return result;
}

void GroupMachinesPlay::look(int index) {
  Machine& machine = machines_[index];
  machine.news = false;
  machine.again_at = machine.agreement.observe(facts(machine), now_);
  if (machine.agreement.progress().held_up()) machine.blocked = true;
  post(index);
}

void GroupMachinesPlay::post(int index) {
  Machine& machine = machines_[index];
  machine.elsewhere = std::max(machine.elsewhere, machine.agreement.progress().elsewhere());
  for (auto& [to, message] : machine.agreement.take_messages()) {
    if (to == index) fail("a machine wrote to itself");
    mail_[{index, to}].push_back(std::move(message));
  }
}

void GroupMachinesPlay::deliver(int from, int to) {
  const auto box = mail_.find({from, to});
  Machine& machine = machines_[to];
  const GroupMessage message = std::move(box->second.front());
  box->second.pop_front();
  if (box->second.empty()) mail_.erase(box);
  if (machine.agreement.over()) {
    if (message.kind == GroupMessage::Kind::share) fail("a share reached a machine that has ended");
    return;
  }
  machine.agreement.hear(from, message);
  machine.news = true;
  post(to);
}

void GroupMachinesPlay::check_start(int index, const GroupRound& round) {
  const std::string name = "the round of step " + std::to_string(round.step) + " ";
  const Machine& machine = machines_[index];
  const std::vector<int> members =
      groups_.members_at(round.step, machine.ranks[machine.agreement.party(round).members.front()]);
  const auto missing = [&](int rank) {
    return ranks_[rank].counts && ranks_[rank].published < round.step;
  };
  const bool all_there = std::none_of(members.begin(), members.end(), missing);
  const Record& record = records_[round];
  if (record.wanted_at == round::kNever) fail(name + "started though no rank waited");
  // With `all` each machine brings its share when its own members are there.
  const bool gracious = plan_.options.trigger.kind != Trigger::Kind::all;
  if (gracious && !all_there && now_ < record.wanted_at + plan_.options.grace.fixed.count()) {
    fail(name + "started before its grace was over");
  }
  for (const Rank& rank : ranks_) {
    if (rank.counts && rank.seen + static_cast<std::uint64_t>(plan_.options.window) < round.step) {
      fail(name + "started outside the window");
    }
  }
}

void GroupMachinesPlay::bring(int index, const GroupRound& round) {
  Machine& machine = machines_[index];
  Record& record = records_[round];
  if (record.shares.empty()) check_start(index, round);
  if (record.shares.contains(index)) fail("a machine brought its share twice");
  round::GroupShare share;
  for (const int member : machine.agreement.party(round).members) {
    const Rank& rank = ranks_[machine.ranks[member]];
    if (!rank.counts) continue;
    if (rank.published > round.step) fail("a member has been through a round that is not over");
    const std::uint64_t staleness = round.step - std::min(rank.published, round.step);
    if (staleness > 0 && plan_.options.trigger.kind == Trigger::Kind::all) {
      fail("a round of all members has old weights");
    }
    if (staleness > static_cast<std::uint64_t>(plan_.options.window)) {
      fail("weights are older than the window");
    }
    share.staleness = std::max(share.staleness, staleness);
    share.contributors.push_back(machine.ranks[member]);
  }
  record.shares[index] = share;
  machine.agreement.bring(round, share);
  post(index);
}

void GroupMachinesPlay::sum(int index, const GroupRound& round) {
  Machine& machine = machines_[index];
  machine.summing.insert(round);
  ++records_[round].summing;
  if (machine.agreement.party(round).shares != records_[round].shares) {
    fail("a machine knows other shares than were brought");
  }
}

void GroupMachinesPlay::gather(int index) {
  Machine& machine = machines_[index];
  const auto turn = static_cast<std::size_t>(machine.gathered);
  if (gatherings_.size() == turn)
    gatherings_.push_back(
        {.reports = std::vector<round::GroupAgreement::MachineReport>(machines_.size())});
  machine.gathering = true;
  gatherings_[turn].reports[index] = machine.agreement.report();
  ++gatherings_[turn].said;
  const std::uint64_t step = machine.agreement.global_step();
  for (const int number : machine.ranks) {
    if (ranks_[number].counts && ranks_[number].published != step) {
      fail("all average together without the newest weights of all");
    }
  }
}

void GroupMachinesPlay::hear_lines(int index) {
  Machine& machine = machines_[index];
  const Lines& reports = gatherings_[machine.gathered++];
  machine.gathering = false;
  machine.news = true;
  if (const std::uint64_t step = machine.agreement.gather(reports.reports); step > 0) {
    machine.results.insert({.step = step, .group = 0});
    machine.agreement.complete({.step = step});
  }
  post(index);
}

// The schedule.

void GroupMachinesPlay::list_choices_of(int index) {
  Machine& machine = machines_[index];
  using Kind = Choice::Kind;
  if (machine.news || machine.again_at <= now_) choices_.push_back({Kind::look, index});
  for (const GroupRound& round : machine.agreement.started()) {
    choices_.push_back({.kind = Kind::bring, .who = index, .round = round});
  }
  for (const auto& [round, record] : records_) {
    if (!record.shares.contains(index) || machine.results.contains(round)) continue;
    const auto& party = machine.agreement.party(round);
    if (!machine.summing.contains(round)) {
      if (party.complete()) choices_.push_back({.kind = Kind::sum, .who = index, .round = round});
    } else if (record.summing == static_cast<int>(party.machines.size())) {
      choices_.push_back({.kind = Kind::end, .who = index, .round = round});
    }
  }
  if (!machine.gathering) {
    // The agreement goes by what it was told last.
    if (!machine.news && machine.agreement.global_due()) choices_.push_back({Kind::gather, index});
  } else if (gatherings_[machine.gathered].said == static_cast<int>(machines_.size())) {
    choices_.push_back({Kind::hear_lines, index});
  }
}

/// Nothing can happen unless time goes on: no round has to wait for that where all have come.
void GroupMachinesPlay::check_nobody_waits_in_vain() {
  std::uint64_t slowest = std::numeric_limits<std::int64_t>::max();
  for (const Rank& rank : ranks_) {
    if (rank.counts) slowest = std::min(slowest, rank.seen);
  }
  for (int number = 0; number < static_cast<int>(ranks_.size()); ++number) {
    const Rank& rank = ranks_[number];
    const std::uint64_t step = rank.published;
    if (!rank.counts || !rank.waits || groups_.everyone_at(step)) continue;
    const std::vector<int> members = groups_.members_at(step, number);
    const bool all_here = std::all_of(members.begin(), members.end(), [&](int other) {
      return !ranks_[other].counts || ranks_[other].published >= step;
    });
    if (all_here && slowest + static_cast<std::uint64_t>(plan_.options.window) >= step) {
      fail("a round waits for time to pass though all are there");
    }
  }
}

int GroupMachinesPlay::list_choices() {
  choices_.clear();
  for (int number = 0; number < static_cast<int>(ranks_.size()); ++number) {
    const Rank& rank = ranks_[number];
    if (!rank.counts) continue;
    if (!rank.waits || rank.dies || done(rank)) choices_.push_back({Choice::Kind::act, number});
    if (can_run(rank, number)) choices_.push_back({Choice::Kind::run, number});
  }
  for (int index = 0; index < static_cast<int>(machines_.size()); ++index) {
    if (!machines_[index].agreement.over()) list_choices_of(index);
  }
  for (const auto& [pair, messages] : mail_) {
    choices_.push_back({Choice::Kind::deliver, pair.first, pair.second});
  }
  if (choices_.empty()) check_nobody_waits_in_vain();
  return static_cast<int>(choices_.size());
}

void GroupMachinesPlay::take(int index) {
  const Choice choice = choices_[index];
  switch (choice.kind) {
    case Choice::Kind::act:
      return act(choice.who);
    case Choice::Kind::run: {
      const Rank& rank = ranks_[choice.who];
      machines_[rank.machine].results.insert(rank.round);
      return;
    }
    case Choice::Kind::look:
      return look(choice.who);
    case Choice::Kind::bring:
      return bring(choice.who, choice.round);
    case Choice::Kind::sum:
      return sum(choice.who, choice.round);
    case Choice::Kind::end: {
      Machine& machine = machines_[choice.who];
      machine.results.insert(choice.round);
      machine.summing.erase(choice.round);
      machine.agreement.complete(choice.round);
      machine.news = true;
      return;
    }
    case Choice::Kind::gather:
      return gather(choice.who);
    case Choice::Kind::hear_lines:
      return hear_lines(choice.who);
    case Choice::Kind::deliver:
      return deliver(choice.who, choice.to);
  }
}

round::Time GroupMachinesPlay::next_moment() const {
  round::Time next = round::kNever;
  for (const Machine& machine : machines_) {
    if (!machine.agreement.over() && machine.again_at > now_)
      next = std::min(next, machine.again_at);
  }
  return next;
}

bool GroupMachinesPlay::over() const {
  return std::all_of(machines_.begin(), machines_.end(),
                     [](const Machine& machine) { return machine.agreement.over(); });
}

std::string GroupMachinesPlay::run() {
  play();
  while (failure_.empty() && !mail_.empty()) {
    deliver(mail_.begin()->first.first, mail_.begin()->first.second);
  }
  for (const Rank& rank : ranks_) {
    if (rank.counts) fail("the machines ended before their ranks");
  }
  for (const Machine& machine : machines_) {
    if (!machine.summing.empty()) fail("a machine ended before its last round");
  }
  return failure_;
}

}  // namespace syncopate::testing
