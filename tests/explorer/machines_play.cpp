#include "explorer/machines_play.h"

#include <algorithm>
#include <bit>

namespace syncopate::testing {

using round::Agreement;
using round::Facts;
using round::Message;

std::vector<int> machines_of_ranks(Random& random, int most_machines, int most_ranks_each) {
  std::vector<int> machine_of;
  const int machines = random.between(1, most_machines);
  for (int machine = 0; machine < machines; ++machine) {
    machine_of.insert(machine_of.end(), random.between(1, most_ranks_each), machine);
  }
  // Launchers place ranks as they like; every machine keeps at least one.
  if (random.one_in(2)) {
    for (std::size_t i = machine_of.size() - 1; i > 0; --i) {
      std::swap(machine_of[i], machine_of[random.below(static_cast<int>(i) + 1)]);
    }
  }
  return machine_of;
}

MachinesPlan MachinesPlan::random(std::uint64_t seed, int most_machines, int most_ranks_each) {
  Random random(seed);
  MachinesPlan plan;
  plan.machine_of = machines_of_ranks(random, most_machines, most_ranks_each);
  const int ranks = static_cast<int>(plan.machine_of.size());
  switch (random.below(4)) {
    case 0:
      plan.trigger = all();
      break;
    case 1:
      plan.trigger = first();
      break;
    case 2:
      plan.trigger = majority(seed);
      break;
    default:
      plan.trigger = count(random.between(1, ranks));
  }
  plan.window = random.between(1, 4);
  if (random.one_in(3)) plan.grace = Duration(random.between(1, 2'000'000));
  plan.steps = random.between(1, 5);
  plan.departures = random.one_in(2);
  if (random.one_in(4)) plan.rounds_before = (std::uint64_t{1} << 40) + 5;
  return plan;
}

std::string MachinesPlan::text() const {
  std::string machines;
  for (const int machine : machine_of) machines.append(" ").append(std::to_string(machine));
  return to_string(trigger) + ", window " + std::to_string(window) + ", grace " +
         std::to_string(grace.count()) + " ns, " + std::to_string(steps) +
         (departures ? " steps with departures" : " steps") + ", machines of the ranks:" + machines;
}

MachinesPlay::MachinesPlay(const MachinesPlan& plan, std::uint64_t seed)
    : RandomPlay(seed, 50), plan_(plan) {
  const int machines = *std::max_element(plan.machine_of.begin(), plan.machine_of.end()) + 1;
  for (int machine = 0; machine < machines; ++machine) {
    machines_.push_back({.agreement = Agreement(plan.trigger, plan.window, plan.machine_of, machine,
                                                plan.rounds_before),
                         .published = plan.rounds_before});
  }
  for (const int machine : plan.machine_of) {
    auto& ranks = machines_[machine].ranks;
    ranks.push_back(static_cast<int>(ranks_.size()));
    ranks_.push_back({.machine = machine,
                      .number = static_cast<int>(ranks.size()) - 1,
                      .steps_left = plan.steps,
                      .seen = plan.rounds_before});
  }
}

bool MachinesPlay::over() const {
  return std::all_of(machines_.begin(), machines_.end(),
                     [](const Machine& machine) { return machine.over; }) &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.finished; });
}

bool MachinesPlay::rank_can_act(const Rank& rank) const {
  if (rank.finished) return false;
  return rank.waits_for == 0 || machines_[rank.machine].published >= rank.waits_for;
}

void MachinesPlay::act(Rank& rank) {
  Machine& machine = machines_[rank.machine];
  machine.news = true;
  if (rank.seen < machine.published) {  // Reads what it has missed, perhaps not all at once.
    rank.waits_for = 0;
    rank.seen = random_.one_in(2) ? machine.published : rank.seen + 1;
    if (rank.seen == machine.published && machine.over &&
        rank.participation == Participation::following) {
      rank.finished = true;
    }
    return;
  }
  if (rank.participation == Participation::following) {
    if (machine.over) {
      rank.finished = true;
    } else {
      rank.waits_for = rank.seen + 1;
    }
    return;
  }
  if (plan_.departures && random_.one_in(8)) {
    rank.participation = random_.one_in(2) ? Participation::left : Participation::dead;
    rank.waits_for = 0;
    rank.finished = true;
    return;
  }
  if (rank.steps_left == 0) {
    rank.participation = Participation::following;
    return;
  }
  --rank.steps_left;
  ++rank.made;
  ++rank.on_board;
  if (!random_.one_in(4)) rank.waits_for = rank.seen + 1;  // Otherwise it goes on computing.
}

Facts MachinesPlay::facts(const Machine& machine) const {
  const int count = static_cast<int>(machine.ranks.size());
  Facts facts{.here = RankSet(count), .counting = RankSet(count)};
  for (const int number : machine.ranks) {
    const Rank& rank = ranks_[number];
    if (rank.on_board > 0) facts.here.insert(rank.number);
    if (rank.participation == Participation::active) facts.counting.insert(rank.number);
    if (rank.participation == Participation::active ||
        rank.participation == Participation::following) {
      facts.seen = std::min(facts.seen, rank.seen);
      if (!rank.finished && rank.waits_for == round_of(machine)) facts.waits = true;
    }
  }
  return facts;
}

void MachinesPlay::look(int index) {
  Machine& machine = machines_[index];
  machine.news = false;
  machine.again_at = machine.agreement.observe(facts(machine), plan_.grace, now_);
  post(index);
}

void MachinesPlay::post(int index) {
  for (Agreement::Outgoing& outgoing : machines_[index].agreement.take_messages()) {
    if (outgoing.to == index) fail("a machine wrote to itself");
    if (outgoing.message.kind == Message::Kind::start) ++starts_;
    mail_[{index, outgoing.to}].push_back(std::move(outgoing.message));
  }
}

void MachinesPlay::deliver(int from, int to) {
  const auto box = mail_.find({from, to});
  Machine& machine = machines_[to];
  const Message message = std::move(box->second.front());
  box->second.pop_front();
  if (box->second.empty()) mail_.erase(box);
  if (machine.over) return;
  machine.again_at = std::min(machine.again_at, machine.agreement.hear(from, message, now_));
  post(to);
}

round::Attendance MachinesPlay::attendance(std::uint64_t round) const {
  round::Attendance attendance;
  for (const Rank& rank : ranks_) {
    const bool here = rank.on_board > 0;
    const bool counts = rank.participation == Participation::active;
    attendance.here += here ? 1 : 0;
    attendance.counting += counts ? 1 : 0;
    attendance.counting_here += here && counts ? 1 : 0;
  }
  // A rank that was drawn and came may have stopped since, while the others still count on it.
  const int drawn =
      round::draw(plan_.trigger.seed, round, static_cast<int>(ranks_.size()), [&](int rank) {
        return ranks_[rank].participation == Participation::active || ranks_[rank].on_board > 0;
      });
  attendance.drawn_here = drawn >= 0 && ranks_[drawn].on_board > 0;
  return attendance;
}

void MachinesPlay::note_truth() {
  const std::uint64_t round = plan_.rounds_before + rounds_.size() + 1;
  const round::Attendance here = attendance(round);
  if (here.counting == 0 || round::holds(plan_.trigger, here)) held_ = round;
}

void MachinesPlay::check_start(std::uint64_t round) {
  bool waits = false;
  int counting = 0;
  for (const Rank& rank : ranks_) {
    counting += rank.participation == Participation::active ? 1 : 0;
    waits = waits || (!rank.finished && rank.waits_for == round);
    if ((rank.participation == Participation::active ||
         rank.participation == Participation::following) &&
        rank.seen + static_cast<std::uint64_t>(plan_.window) < round) {
      fail("round " + std::to_string(round) + " started outside the window");
    }
  }
  if (counting > 0 && !waits) {
    fail("round " + std::to_string(round) + " started though no rank waits");
  }
  // A rank may have gone since; but there was a moment.
  if (held_ != round) {
    fail("round " + std::to_string(round) + " started though its trigger never held");
  }
}

void MachinesPlay::join(int index) {
  Machine& machine = machines_[index];
  const std::uint64_t round = round_of(machine);
  // With `all` a machine takes part when its own ranks are there; the check is when all do.
  const bool starts = rounds_.find(round) == rounds_.end();
  if (starts && plan_.trigger.kind != Trigger::Kind::all) check_start(round);
  RoundRecord& record = rounds_[round];
  record.facts.resize(machines_.size());
  record.facts[index] = facts(machine);
  ++record.joined;
  machine.joined = true;
  for (const int number : machine.ranks) {
    ranks_[number].taken += ranks_[number].on_board;
    ranks_[number].on_board = 0;
  }
  if (record.joined == static_cast<int>(machines_.size())) check_joined(record, round);
}

void MachinesPlay::check_joined(const RoundRecord& record, std::uint64_t round) {
  int counting = 0;
  bool waits = false;
  bool all_here = true;
  for (const Facts& facts : record.facts) {
    counting += facts.counting.size();
    waits = waits || facts.waits;
    for (const int rank : facts.counting.list()) all_here = all_here && facts.here.contains(rank);
  }
  rounds_[round].last = counting == 0;
  if (counting == 0 || plan_.trigger.kind != Trigger::Kind::all) return;
  if (!all_here) fail("round " + std::to_string(round) + " ran without all ranks");
  if (!waits) fail("round " + std::to_string(round) + " ran though no rank waits");
}

void MachinesPlay::end_round(int index) {
  Machine& machine = machines_[index];
  const RoundRecord& record = rounds_[round_of(machine)];
  ++machine.published;
  machine.joined = false;
  machine.news = true;
  machine.over = record.last;
  machine.agreement.complete(record.facts, now_);
  if (machine.agreement.next() != round_of(machine)) fail("the agreement lost count of rounds");
  post(index);
}

int MachinesPlay::list_choices() {
  choices_.clear();
  const int machines = static_cast<int>(machines_.size());
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    if (rank_can_act(ranks_[rank])) choices_.push_back({Choice::Kind::act, rank});
  }
  for (int index = 0; index < machines; ++index) {
    const Machine& machine = machines_[index];
    if (machine.over) continue;
    if (machine.news || machine.again_at <= now_) choices_.push_back({Choice::Kind::look, index});
    if (machine.joined && rounds_[round_of(machine)].joined == machines) {
      choices_.push_back({Choice::Kind::end_round, index});
    } else if (!machine.joined && machine.agreement.started()) {
      choices_.push_back({Choice::Kind::join, index});
    }
  }
  for (const auto& [pair, messages] : mail_) {
    choices_.push_back({Choice::Kind::deliver, pair.first, pair.second});
  }
  return static_cast<int>(choices_.size());
}

void MachinesPlay::take(int index) {
  const Choice choice = choices_[index];
  switch (choice.kind) {
    case Choice::Kind::act:
      act(ranks_[choice.who]);
      return note_truth();
    case Choice::Kind::look:
      return look(choice.who);
    case Choice::Kind::join:
      join(choice.who);
      return note_truth();
    case Choice::Kind::end_round:
      return end_round(choice.who);
    case Choice::Kind::deliver:
      return deliver(choice.who, choice.to);
  }
}

round::Time MachinesPlay::next_moment() const {
  round::Time next = round::kNever;
  for (const Machine& machine : machines_) {
    if (!machine.over && machine.again_at > now_) next = std::min(next, machine.again_at);
  }
  return next;
}

std::string MachinesPlay::run() {
  play();
  for (const Rank& rank : ranks_) {
    if (failure_.empty() && rank.taken != rank.made) fail("a deposit is in no round");
  }
  const int machines = static_cast<int>(machines_.size());
  const auto depth = static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(machines)));
  // A round that all machines start at once costs a message for each hop from each machine.
  if (failure_.empty() && starts_ > 2 * rounds_.size() * machines * depth) {
    fail("the start of rounds took " + std::to_string(starts_) + " messages");
  }
  return failure_;
}

}  // namespace syncopate::testing
