#include "round/group_missing.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace syncopate::round {
namespace {

/// How often what has changed is told again.
constexpr int kMostTells = 4;
constexpr std::size_t kMostInquiries = 8;
/// A message has room for so many ranks, and a reader for fewer.
constexpr std::size_t kMostNamed = 1024;

GroupMessage about(GroupMessage::Kind kind, const GroupWanted& wanted) {
  return {.kind = kind,
          .round = wanted.round,
          .member = wanted.member,
          .step = wanted.published,
          .seen = wanted.seen};
}

GroupWanted asked_about(const GroupMessage& message) {
  return {.published = message.step,
          .seen = message.seen,
          .round = message.round,
          .member = message.member};
}

}  // namespace

Time GroupMissing::look(const GroupWanted& wanted, std::span<const int> party, Time now,
                        GroupOutbox& out) {
  if (wanted != wanted_) {
    wanted_ = wanted;
    waiting_since_ = wanted.published > 0 ? now : kNever;
    missing_ = RankSet(machines_.ranks());
    asked_ = false;
  }
  if (waiting_since_ == kNever || asked_) return kNever;
  if (now < waiting_since_ + kCurious) return waiting_since_ + kCurious;
  ask(party, out);
  return kNever;
}

void GroupMissing::ask(std::span<const int> party, GroupOutbox& out) {
  asked_ = true;
  if (wanted_.round.step > 0) {
    for (const int machine : party) {
      if (machine != machine_) out.push_back({machine, about(GroupMessage::Kind::who, wanted_)});
    }
    return;
  }
  const int collector = coordinator_of(wanted_.published, machines_.count());
  if (collector == machine_) return inquire(machine_, wanted_, out);
  out.push_back({collector, about(GroupMessage::Kind::who_all, wanted_)});
}

void GroupMissing::note_own(const Late& late) {
  if (!asked_) return;
  for (const int rank : machines_.on(machine_)) missing_.erase(rank);
  for (const int rank : late(wanted_)) missing_.insert(rank);
}

void GroupMissing::note_share(int from, const GroupRound& round) {
  if (wanted_.round != round) return;
  for (const int rank : machines_.on(from)) missing_.erase(rank);
}

void GroupMissing::hear(int from, const GroupMessage& message, GroupOutbox& out) {
  switch (message.kind) {
    case GroupMessage::Kind::who:
      curious_.push_back({.machine = from, .wanted = asked_about(message)});
      if (curious_.size() > most_kept()) curious_.erase(curious_.begin());
      return;
    case GroupMessage::Kind::who_all:
      return inquire(from, asked_about(message), out);
    default:
      return note_missing(from, message);
  }
}

void GroupMissing::note_missing(int from, const GroupMessage& message) {
  const GroupWanted wanted = asked_about(message);
  if (message.kind == GroupMessage::Kind::all_missing) {
    if (wanted != wanted_) return;
    missing_ = RankSet(machines_.ranks());
    for (const int rank : message.ranks) missing_.insert(rank);
    return;
  }
  const auto note = [&](RankSet& missing) {
    for (const int rank : machines_.on(from)) missing.erase(rank);
    for (const int rank : message.ranks) missing.insert(rank);
  };
  const auto found = std::ranges::find(inquiries_, wanted, &Inquiry::wanted);
  if (found != inquiries_.end()) note(found->missing);
  if (wanted == wanted_ && wanted.round.step > 0) note(missing_);
}

Time GroupMissing::answer(const Late& late, Time now, GroupOutbox& out) {
  answer_curious(late, out);
  const Time again_at = answer_inquiries(late, now, out);
  note_own(late);
  return again_at;
}

void GroupMissing::answer_curious(const Late& late, GroupOutbox& out) {
  for (Curious& one : curious_) {
    std::vector<int> ranks = late(one.wanted);
    // What was answered is mended once, when all have come.
    const bool push = one.answered && ranks.empty();
    if (one.answered && !push) continue;
    one.answered = true;
    one.through = ranks.empty();
    if (one.through && !push) continue;  // A rank that is not named is not missing.
    GroupMessage answer = about(GroupMessage::Kind::missing, one.wanted);
    answer.ranks = std::move(ranks);
    out.push_back({one.machine, std::move(answer)});
  }
  std::erase_if(curious_, [](const Curious& one) { return one.through; });
}

// Of all ranks: one machine asks the others, and tells those that have asked it.

void GroupMissing::inquire(int from, const GroupWanted& wanted, GroupOutbox& out) {
  auto found = std::ranges::find(inquiries_, wanted, &Inquiry::wanted);
  if (found == inquiries_.end()) {
    if (inquiries_.size() == kMostInquiries) inquiries_.erase(inquiries_.begin());
    inquiries_.push_back({.wanted = wanted, .missing = RankSet(machines_.ranks())});
    found = std::prev(inquiries_.end());
  }
  if (std::ranges::find(found->askers, from) != found->askers.end()) return;
  found->askers.push_back(from);
  if (found->tells > 0) tell_inquirer(from, *found, out);
}

void GroupMissing::tell_inquirer(int machine, const Inquiry& inquiry, GroupOutbox& out) {
  if (machine == machine_) {
    if (inquiry.wanted == wanted_) missing_ = inquiry.told;
    return;
  }
  GroupMessage answer = about(GroupMessage::Kind::all_missing, inquiry.wanted);
  answer.ranks = inquiry.told.list();
  if (answer.ranks.size() > kMostNamed) answer.ranks.resize(kMostNamed);
  out.push_back({machine, std::move(answer)});
}

Time GroupMissing::answer_inquiries(const Late& late, Time now, GroupOutbox& out) {
  Time again_at = kNever;
  for (Inquiry& one : inquiries_) {
    if (one.asked_at == kNever) {
      one.asked_at = now;
      one.tell_at = now + kTimeToAnswer;
      for (int machine = 0; machine < machines_.count(); ++machine) {
        if (machine == machine_) continue;
        out.push_back({machine, about(GroupMessage::Kind::who, one.wanted)});
      }
    }
    for (const int rank : machines_.on(machine_)) one.missing.erase(rank);
    for (const int rank : late(one.wanted)) one.missing.insert(rank);
    const bool changed = one.tells == 0 || one.missing != one.told;
    // When no rank is missing any longer those that wait hear of it by what follows.
    if (one.tells == kMostTells || !changed || one.missing.empty()) continue;
    if (now < one.tell_at) {
      again_at = std::min(again_at, one.tell_at);
      continue;
    }
    one.told = one.missing;
    ++one.tells;
    one.tell_at = one.asked_at + kLonger * (now - one.asked_at);
    for (const int asker : one.askers) tell_inquirer(asker, one, out);
  }
  return again_at;
}

}  // namespace syncopate::round
