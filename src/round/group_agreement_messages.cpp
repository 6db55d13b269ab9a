// What an agreement on groups finds out from other machines: whether the window lets a round start,
// and for whom its ranks wait.
#include <algorithm>

#include "round/group_agreement.h"

namespace syncopate::round {
namespace {

/// A machine asks so many others directly whether they have caught up, and the coordinator
/// otherwise.
constexpr int kFew = 2;
/// How often what has changed is told again.
constexpr int kMostTells = 4;
constexpr std::size_t kMostInquiries = 8;

}  // namespace

// The window.

std::uint64_t GroupAgreement::least_seen() const {
  std::uint64_t least = kNobodysStep;
  for (const GroupFacts& rank : own_) {
    if (rank.counts) least = std::min(least, rank.seen);
  }
  return least;
}

void GroupAgreement::note_seen(int machine, std::uint64_t step) {
  if (machine == machine_ || step <= seen_[machine]) return;
  const bool was_least = seen_[machine] == elsewhere_;
  seen_[machine] = step;
  if (!was_least || --at_least_ > 0) return;
  elsewhere_ = kNobodysStep;
  for (int other = 0; other < machines(); ++other) {
    if (other == machine_ || seen_[other] > elsewhere_) continue;
    at_least_ = seen_[other] == elsewhere_ ? at_least_ + 1 : 1;
    elsewhere_ = seen_[other];
  }
}

void GroupAgreement::ask_who_lags() {
  std::erase_if(asked_steps_, [&](std::uint64_t step) { return step <= slowest_; });
  for (const GroupFacts& rank : own_) {
    if (!rank.counts || is_through(rank) || window_allows(rank.published)) continue;
    held_up_ = true;
    const std::uint64_t wanted = rank.published - static_cast<std::uint64_t>(options_.window);
    if (seen_elsewhere() >= wanted || !asked_steps_.insert(wanted).second) continue;
    const auto lagging = std::ranges::count_if(seen_, [&](auto seen) { return seen < wanted; });
    // This machine's own entry is never noted.
    if (lagging - 1 <= kFew || coordinator(wanted) == machine_) {
      ask_those_that_lag(wanted);
    } else {
      send(coordinator(wanted), {.kind = GroupMessage::Kind::ask_all, .step = wanted});
    }
  }
}

void GroupAgreement::ask_those_that_lag(std::uint64_t step) {
  for (int machine = 0; machine < machines(); ++machine) {
    if (machine == machine_ || seen_[machine] >= step || asked_[machine] >= step) continue;
    asked_[machine] = step;
    send(machine, {.kind = GroupMessage::Kind::ask, .step = step});
  }
}

void GroupAgreement::add_asker(std::vector<Asker>& askers, int machine, std::uint64_t step) const {
  const auto found = std::ranges::find(askers, machine, &Asker::machine);
  if (found == askers.end()) {
    askers.push_back({.machine = machine, .first = step, .last = step});
  } else {
    found->first = std::min(found->first, step);
    found->last = std::max(found->last, step);
  }
}

void GroupAgreement::answer_askers() {
  const std::uint64_t seen = least_seen();
  for (Asker& asker : askers_) {
    // It may wait for less than it has asked for last: each bit of the way is told.
    if (seen > asker.told) {
      send(asker.machine, {.kind = GroupMessage::Kind::seen, .step = seen});
    }
    asker.told = seen;
  }
  std::erase_if(askers_, [seen](const Asker& asker) { return seen >= asker.last; });
  held_up_ = held_up_ || !askers_.empty();
  for (Asker& asker : askers_of_all_) {
    if (slowest_ < asker.first) {
      ask_those_that_lag(asker.last);
      held_up_ = held_up_ || seen < asker.last;
      continue;
    }
    // The furthest step that is this machine's to speak of, and that all have seen.
    const auto every = static_cast<std::uint64_t>(machines());
    const std::uint64_t reached = std::min(slowest_, asker.last);
    const std::uint64_t told = reached - (reached + every - asker.last % every) % every;
    send(asker.machine, {.kind = GroupMessage::Kind::all_seen, .step = told});
    asker.first = told + 1;
  }
  std::erase_if(askers_of_all_, [](const Asker& asker) { return asker.first > asker.last; });
}

// For messages.

GroupAgreement::Wanted GroupAgreement::what_is_wanted() const {
  // The first thing that somebody here waits for: publications, or that somebody catches up.
  Wanted wanted;
  for (const auto& [key, round] : rounds_) {
    if (!under_way(round) && !anybody_counts()) continue;
    wanted.published = key.step;
    wanted.round = key;
    wanted.member = own_ranks()[round.party.members.front()];
    break;
  }
  if (anybody_counts() && global_due()) wanted = {.published = global_step_};
  for (const GroupFacts& rank : own_) {
    if (!rank.counts || is_through(rank)) continue;
    if (wanted.published == 0) wanted.published = rank.published;
    if (window_allows(rank.published)) continue;
    wanted = {.published = wanted.published,
              .seen = rank.published - static_cast<std::uint64_t>(options_.window)};
  }
  return wanted;
}

Time GroupAgreement::look_for_missing(Time now) {
  const Wanted wanted = what_is_wanted();
  if (wanted != wanted_) {
    wanted_ = wanted;
    waiting_since_ = wanted.published > 0 ? now : kNever;
    missing_ = RankSet(machines_.ranks());
    asked_who_ = false;
  }
  if (waiting_since_ == kNever || asked_who_) return kNever;
  if (now < waiting_since_ + kCurious) return waiting_since_ + kCurious;
  ask_who();
  return kNever;
}

GroupMessage GroupAgreement::about(GroupMessage::Kind kind, const Wanted& wanted) {
  return {.kind = kind,
          .round = wanted.round,
          .member = wanted.member,
          .step = wanted.published,
          .seen = wanted.seen};
}

void GroupAgreement::ask_who() {
  asked_who_ = true;
  for (const int rank : late(wanted_)) missing_.insert(rank);
  if (wanted_.round.step > 0) {
    return tell_party(rounds_.at(wanted_.round), about(GroupMessage::Kind::who, wanted_));
  }
  const int collector = coordinator(wanted_.published);
  if (collector == machine_) return inquire(machine_, wanted_);
  send(collector, about(GroupMessage::Kind::who_all, wanted_));
}

RankSet GroupAgreement::missing() const {
  RankSet result = missing_;
  if (!asked_who_) return result;
  for (const int rank : own_ranks()) result.erase(rank);
  for (const int rank : late(wanted_)) result.insert(rank);
  return result;
}

void GroupAgreement::forget_missing(int machine) {
  for (const int rank : machines_.on(machine)) missing_.erase(rank);
}

void GroupAgreement::note_missing(int from, const GroupMessage& message) {
  const Wanted wanted = asked_about(message);
  if (message.kind == GroupMessage::Kind::all_missing) {
    if (wanted != wanted_) return;
    missing_ = RankSet(machines_.ranks());
    for (const int rank : message.ranks) missing_.insert(rank);
    return;
  }
  const auto found = std::ranges::find(inquiries_, wanted, &Inquiry::wanted);
  if (found != inquiries_.end()) {
    for (const int rank : machines_.on(from)) found->missing.erase(rank);
    for (const int rank : message.ranks) found->missing.insert(rank);
  }
  if (wanted != wanted_ || wanted.round.step == 0) return;
  forget_missing(from);
  for (const int rank : message.ranks) missing_.insert(rank);
}

void GroupAgreement::answer_curious() {
  for (Curious& one : curious_) {
    std::vector<int> ranks = late(one.wanted);
    // What was answered is mended once, when all have come.
    const bool push = one.answered && ranks.empty();
    if (one.answered && !push) continue;
    one.answered = true;
    one.through = ranks.empty();
    if (one.through && !push) continue;  // Who is not named is not missing.
    GroupMessage answer = about(GroupMessage::Kind::missing, one.wanted);
    answer.ranks = std::move(ranks);
    send(one.machine, std::move(answer));
  }
  std::erase_if(curious_, [](const Curious& one) { return one.through; });
}

// Of all ranks: one machine asks the others, and tells those that have asked it.

void GroupAgreement::inquire(int from, const Wanted& wanted) {
  auto found = std::ranges::find(inquiries_, wanted, &Inquiry::wanted);
  if (found == inquiries_.end()) {
    if (inquiries_.size() == kMostInquiries) inquiries_.erase(inquiries_.begin());
    inquiries_.push_back({.wanted = wanted, .missing = RankSet(machines_.ranks())});
    found = std::prev(inquiries_.end());
  }
  if (std::ranges::find(found->askers, from) != found->askers.end()) return;
  found->askers.push_back(from);
  if (found->tells > 0) tell_inquirer(from, *found);
}

void GroupAgreement::tell_inquirer(int machine, const Inquiry& inquiry) {
  if (machine == machine_) {
    if (inquiry.wanted == wanted_) missing_ = inquiry.told;
    return;
  }
  GroupMessage answer = about(GroupMessage::Kind::all_missing, inquiry.wanted);
  answer.ranks = inquiry.told.list();
  if (answer.ranks.size() > kMostNamed) answer.ranks.resize(kMostNamed);
  send(machine, std::move(answer));
}

Time GroupAgreement::answer_inquiries(Time now) {
  Time again_at = kNever;
  for (Inquiry& one : inquiries_) {
    if (one.asked_at == kNever) {
      one.asked_at = now;
      one.tell_at = now + kTimeToAnswer;
      for (int machine = 0; machine < machines(); ++machine) {
        if (machine != machine_) send(machine, about(GroupMessage::Kind::who, one.wanted));
      }
    }
    for (const int rank : own_ranks()) one.missing.erase(rank);
    for (const int rank : late(one.wanted)) one.missing.insert(rank);
    const bool changed = one.tells == 0 || one.missing != one.told;
    // When nobody is missing any longer those that wait hear of it by what follows.
    if (one.tells == kMostTells || !changed || one.missing.empty()) continue;
    if (now < one.tell_at) {
      again_at = std::min(again_at, one.tell_at);
      continue;
    }
    one.told = one.missing;
    ++one.tells;
    one.tell_at = one.asked_at + kLonger * (now - one.asked_at);
    for (const int asker : one.askers) tell_inquirer(asker, one);
  }
  return again_at;
}

std::vector<int> GroupAgreement::late(const Wanted& wanted) const {
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
