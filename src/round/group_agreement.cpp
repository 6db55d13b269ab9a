#include "round/group_agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/bad_message.h"
#include "round/step_times.h"

namespace syncopate::round {
namespace {

/// Far more than are under way on a machine at once, and sums of it fit.
constexpr int kMostRounds = 1 << 16;

}  // namespace

GroupAgreement::GroupAgreement(const GroupOptions& options, Machines machines, int machine)
    : options_(options),
      plan_(machines.ranks(), options),
      machine_(machine),
      machines_(std::move(machines)),
      global_step_(plan_.every()),
      progress_(options.window, this->machines(), machine),
      missing_(machines_, machine) {
  own_.resize(own_ranks().size());
  whereabouts_.resize(own_ranks().size());
}

Time GroupAgreement::observe(std::span<const GroupFacts> own, Time now) {
  own_.assign(own.begin(), own.end());
  observed_ = true;
  progress_.observe(own_, outbox_);
  look_at_ranks(now);
  progress_.ask_who_lags(own_, outbox_);
  Time again_at = kNever;
  for (auto& [key, round] : rounds_) {
    if (round.on) continue;
    const Time start = start_at(key, round, now);
    round.on = start <= now;
    if (!round.on) again_at = std::min(again_at, start);
  }
  const GroupMissing::Late late_here = [this](const GroupWanted& wanted) { return late(wanted); };
  const GroupWanted wanted = what_is_wanted();
  std::span<const int> party;
  if (wanted.round.step > 0) party = rounds_.at(wanted.round).party.machines;
  again_at = std::min(again_at, missing_.look(wanted, party, now, outbox_));
  return std::min(again_at, missing_.answer(late_here, now, outbox_));
}

std::uint64_t GroupAgreement::furthest_step() const {
  // No machine knows more of this one's ranks than it has said itself.
  return (observed_ ? least_seen(own_) : 0) + static_cast<std::uint64_t>(options_.window);
}

void GroupAgreement::check(int from, const GroupMessage& message) const {
  const int ranks = machines_.ranks();
  int last = -1;
  for (const int rank : message.ranks) {
    const bool theirs = message.kind == GroupMessage::Kind::all_missing || rank < 0 ||
                        rank >= ranks || machines_.of(rank) == from;
    if (rank <= last || rank >= ranks || !theirs) {
      throw BadMessage(from, "names ranks that its machine has not, or out of their order");
    }
    last = rank;
  }
  const bool begins =
      message.kind == GroupMessage::Kind::share || message.kind == GroupMessage::Kind::here;
  if (begins || (message.kind == GroupMessage::Kind::who && message.round.step > 0)) {
    // A rank publishes the step after the last that it has seen, before that can start.
    const std::uint64_t ahead = message.kind == GroupMessage::Kind::share ? 0 : 1;
    if (message.round.step < 1 || message.round.step > furthest_step() + ahead) {
      throw BadMessage(from, "is about step " + std::to_string(message.round.step) +
                                 " when this machine is far from it");
    }
    if (message.member < 0 || message.member >= ranks ||
        (begins &&
         (machines_.of(message.member) != from || plan_.everyone_at(message.round.step)))) {
      throw BadMessage(from, "is about a group that there is not");
    }
  }
  const bool of_all = message.kind == GroupMessage::Kind::who_all ||
                      message.kind == GroupMessage::Kind::all_missing;
  if (of_all && message.round.step > 0) {
    throw BadMessage(from, "asks all machines about a group");
  }
  const bool to_coordinator =
      message.kind == GroupMessage::Kind::ask_all || message.kind == GroupMessage::Kind::who_all;
  if ((message.kind == GroupMessage::Kind::all_seen &&
       from != coordinator_of(message.step, machines())) ||
      (to_coordinator && machine_ != coordinator_of(message.step, machines()))) {
    throw BadMessage(from, "takes another machine for the coordinator of a step");
  }
  if (message.staleness > message.round.step || message.seen > kBeyondAllSteps ||
      message.step > kBeyondAllSteps) {
    throw BadMessage(from, "has a step that there is not");
  }
}

GroupAgreement::Round& GroupAgreement::round_heard_of(int from, const GroupMessage& message) {
  const GroupRound& key = message.round;
  if (const auto found = rounds_.find(key); found != rounds_.end()) {
    const Party& party = found->second.party;
    if (!std::binary_search(party.machines.begin(), party.machines.end(), from) ||
        (message.kind == GroupMessage::Kind::share && party.shares.contains(from))) {
      throw BadMessage(from, "brings to a group what it has no part in, or has brought before");
    }
    return found->second;
  }
  if (plan_.group_at(key.step, message.member) != key.group) {
    throw BadMessage(from, "is about a group that there is not");
  }
  // A step of each rank of this machine for every one in the window, and what ranks have left.
  const std::size_t most = 2 * (own_.size() * (static_cast<std::size_t>(options_.window) + 2) +
                                static_cast<std::size_t>(machines_.ranks()));
  if (rounds_.size() >= most) throw BadMessage(from, "is about one group more than there can be");
  Round round = make_round(key, message.member);
  const bool over = std::ranges::any_of(round.party.members, [&](int rank) {
    return own_[rank].counts && own_[rank].seen >= key.step;
  });
  if (round.party.members.empty() || over) {
    throw BadMessage(from, "is about a group that this machine is not in, or is through with");
  }
  return rounds_.emplace(key, std::move(round)).first->second;
}

void GroupAgreement::hear(int from, const GroupMessage& message) {
  check(from, message);
  switch (message.kind) {
    case GroupMessage::Kind::share: {
      Round& round = round_heard_of(from, message);
      if (message.ranks.size() > static_cast<std::size_t>(round.party.most)) {
        throw BadMessage(from, "brings more ranks to a group than it has there");
      }
      progress_.note_seen(from, message.seen);
      missing_.note_share(from, message.round);
      round.party.shares[from] = {.staleness = message.staleness, .contributors = message.ranks};
      break;
    }
    case GroupMessage::Kind::here: {
      Round& round = round_heard_of(from, message);
      const std::vector<int>& machines = round.party.machines;
      const auto found = std::find(machines.begin(), machines.end(), from);
      round.here[found - machines.begin()] = true;
      break;
    }
    case GroupMessage::Kind::ask:
      return progress_.note_asker(from, message.step);
    case GroupMessage::Kind::seen:
      return progress_.note_seen(from, message.step);
    case GroupMessage::Kind::ask_all:
      return progress_.note_asker_of_all(from, message.step);
    case GroupMessage::Kind::all_seen:
      return progress_.note_all_seen(message.step);
    case GroupMessage::Kind::who:
    case GroupMessage::Kind::who_all:
    case GroupMessage::Kind::missing:
    case GroupMessage::Kind::all_missing:
      return missing_.hear(from, message, outbox_);
  }
}

bool GroupAgreement::any_counts() const {
  return std::any_of(own_.begin(), own_.end(), [](const GroupFacts& rank) { return rank.counts; });
}

// Rounds of groups.

GroupAgreement::Round& GroupAgreement::round_of(const GroupRound& key, int member) {
  const auto found = rounds_.find(key);
  if (found != rounds_.end()) return found->second;
  return rounds_.emplace(key, make_round(key, member)).first->second;
}

GroupAgreement::Round GroupAgreement::make_round(const GroupRound& key, int member) const {
  Round round;
  Party& party = round.party;
  const std::vector<int> members = plan_.members_at(key.step, member);
  std::vector<int>& machines = party.machines;
  for (const int rank : members) machines.push_back(machines_.of(rank));
  std::sort(machines.begin(), machines.end());
  for (auto at = machines.begin(); at != machines.end();) {
    const auto next = std::upper_bound(at, machines.end(), *at);
    party.most = std::max(party.most, static_cast<int>(next - at));
    at = next;
  }
  machines.erase(std::unique(machines.begin(), machines.end()), machines.end());
  for (int rank = 0; rank < static_cast<int>(own_ranks().size()); ++rank) {
    if (std::binary_search(members.begin(), members.end(), own_ranks()[rank])) {
      party.members.push_back(rank);
    }
  }
  round.here.resize(party.machines.size());
  return round;
}

const GroupAgreement::Whereabouts& GroupAgreement::whereabouts(int rank, std::uint64_t step) {
  Whereabouts& at = whereabouts_[rank];
  if (at.step == step) return at;
  const int number = own_ranks()[rank];
  const std::vector<int> members = plan_.members_at(step, number);
  at = {.step = step,
        .spans = std::any_of(members.begin(), members.end(),
                             [&](int member) { return machines_.of(member) != machine_; }),
        .round = {.step = step, .group = plan_.group_at(step, number)}};
  return at;
}

void GroupAgreement::look_at_ranks(Time now) {
  for (int rank = 0; rank < static_cast<int>(own_.size()); ++rank) {
    const GroupFacts& facts = own_[rank];
    // As on one machine, a publication alone starts nothing.
    if (!facts.counts || !facts.waits || plan_.everyone_at(facts.published)) continue;
    const Whereabouts& at = whereabouts(rank, facts.published);
    if (!at.spans) continue;
    Round& round = round_of(at.round, own_ranks()[rank]);
    round.wanted_at = std::min(round.wanted_at, now);
  }
}

bool GroupAgreement::all_here(const GroupRound& key, const Round& round) const {
  const std::vector<int>& members = round.party.members;
  return std::all_of(members.begin(), members.end(), [&](int rank) {
    return !own_[rank].counts || own_[rank].published >= key.step;
  });
}

Duration GroupAgreement::grace(const Round& round) const {
  if (options_.grace.share <= 0) return options_.grace.fixed;
  std::vector<Duration> times;
  for (const int rank : round.party.members) {
    if (own_[rank].counts) times.push_back(own_[rank].step_time);
  }
  return Duration(std::llround(double(median(times).count()) * options_.grace.share));
}

bool GroupAgreement::gracious() const {
  return options_.trigger.kind != Trigger::Kind::all &&
         (options_.grace.share > 0 || options_.grace.fixed.count() > 0);
}

Time GroupAgreement::start_at(const GroupRound& key, Round& round, Time now) {
  const bool here = all_here(key, round);
  const bool waits_for_all = options_.trigger.kind == Trigger::Kind::all;
  if (waits_for_all && !here) return kNever;
  if (!round.party.shares.empty()) return now;  // Another machine has started it.
  // The others have to hear it from a machine whose members have gone, too.
  if (here && gracious() && !round.told_here) tell_here(key, round);
  // What its last ranks wanted and no machine has started is no longer wanted.
  const bool wanted = round.wanted_at != kNever && any_counts();
  if (!wanted || !progress_.window_allows(key.step)) return kNever;
  const Duration open = waits_for_all ? Duration(0) : grace(round);
  if (std::find(round.here.begin(), round.here.end(), false) == round.here.end()) return now;
  return open.count() > 0 ? round.wanted_at + open.count() : now;
}

void GroupAgreement::tell_here(const GroupRound& key, Round& round) {
  round.told_here = true;
  const std::vector<int>& machines = round.party.machines;
  const auto own = std::find(machines.begin(), machines.end(), machine_);
  round.here[own - machines.begin()] = true;
  tell_party(round, {.kind = GroupMessage::Kind::here,
                     .round = key,
                     .member = own_ranks()[round.party.members.front()]});
}

void GroupAgreement::tell_party(const Round& round, const GroupMessage& message) {
  for (const int machine : round.party.machines) {
    if (machine != machine_) outbox_.push_back({machine, message});
  }
}

std::vector<GroupRound> GroupAgreement::started() const {
  std::vector<GroupRound> result;
  for (const auto& [key, round] : rounds_) {
    if (round.on && !round.party.shares.contains(machine_)) result.push_back(key);
  }
  return result;
}

void GroupAgreement::bring(const GroupRound& key, GroupShare share) {
  Round& round = rounds_.at(key);
  tell_party(round, {.kind = GroupMessage::Kind::share,
                     .round = key,
                     .member = own_ranks()[round.party.members.front()],
                     .seen = least_seen(own_),
                     .staleness = share.staleness,
                     .ranks = share.contributors});
  round.party.shares[machine_] = std::move(share);
}

void GroupAgreement::complete(const GroupRound& round) {
  if (plan_.everyone_at(round.step)) {
    global_step_ += plan_.every();
  } else {
    rounds_.erase(round);
  }
}

// All together.

bool GroupAgreement::global_due() const {
  if (!any_counts()) return !all_have_left_;
  return plan_.every() > 0 && std::all_of(own_.begin(), own_.end(), [&](const GroupFacts& rank) {
           return !rank.counts || rank.published >= global_step_;
         });
}

GroupAgreement::MachineReport GroupAgreement::report() const {
  const auto count = std::count_if(rounds_.begin(), rounds_.end(),
                                   [](const auto& entry) { return under_way(entry.second); });
  return {.step = any_counts() ? global_step_ : 0,
          .seen = least_seen(own_),
          .rounds = static_cast<int>(count)};
}

bool GroupAgreement::over() const {
  return all_have_left_ && std::none_of(rounds_.begin(), rounds_.end(),
                                        [](const auto& entry) { return under_way(entry.second); });
}

std::uint64_t GroupAgreement::gather(std::span<const MachineReport> reports) {
  std::uint64_t step = 0;
  int rounds = 0;
  for (int machine = 0; machine < machines(); ++machine) {
    const MachineReport& report = reports[machine];
    if ((report.step != 0 && report.step != global_step_) || report.seen > kBeyondAllSteps ||
        report.rounds < 0 || report.rounds > kMostRounds) {
      throw BadMessage(machine, "has a step or a number of rounds that there is not");
    }
  }
  for (int machine = 0; machine < machines(); ++machine) {
    step = std::max(step, reports[machine].step);
    rounds += reports[machine].rounds;
    progress_.note_seen(machine, reports[machine].seen);
  }
  if (step == 0) {
    all_have_left_ = rounds == 0;  // What was begun goes to its end.
  } else {
    global_step_ = step;
  }
  return step;
}

// Who is waited for.

GroupWanted GroupAgreement::what_is_wanted() const {
  // The first thing that a rank here waits for: publications, or that others catch up.
  GroupWanted wanted;
  for (const auto& [key, round] : rounds_) {
    if (!under_way(round) && !any_counts()) continue;
    wanted.published = key.step;
    wanted.round = key;
    wanted.member = own_ranks()[round.party.members.front()];
    break;
  }
  if (any_counts() && global_due()) wanted = {.published = global_step_};
  for (const GroupFacts& rank : own_) {
    if (!rank.counts || rank.is_through()) continue;
    if (wanted.published == 0) wanted.published = rank.published;
    if (progress_.window_allows(rank.published)) continue;
    wanted = {.published = wanted.published,
              .seen = rank.published - static_cast<std::uint64_t>(options_.window)};
  }
  return wanted;
}

std::vector<int> GroupAgreement::late(const GroupWanted& wanted) const {
  std::vector<int> members;
  if (wanted.round.step > 0) members = plan_.members_at(wanted.round.step, wanted.member);
  std::vector<int> result;
  for (int rank = 0; rank < static_cast<int>(own_.size()); ++rank) {
    const GroupFacts& facts = own_[rank];
    const int number = own_ranks()[rank];
    const bool asked =
        wanted.round.step == 0 || std::binary_search(members.begin(), members.end(), number);
    const bool late =
        wanted.seen > 0 ? facts.seen < wanted.seen : facts.published < wanted.published;
    if (facts.counts && asked && late) result.push_back(number);
  }
  return result;
}

}  // namespace syncopate::round
