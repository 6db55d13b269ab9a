#include "world/task.h"

#include <algorithm>

#include "base/bad_message.h"
#include "round/relay.h"
#include "round/time.h"
#include "world/messages.h"

namespace syncopate::world {
namespace {

using round::kCurious;
using round::kLonger;
using round::kTimeToAnswer;

/// How often it is spread who is missing.
constexpr int kMostSpreads = 4;
/// A message has room for so many, and a reader for fewer.
constexpr std::size_t kMostNamed = 1024;

/// Whether agents have something to do with it. Where ranks differ, those who order a collective
/// have counted its place and others have not: the agents count with the former.
bool orders_something(const board::Attachment& attachment) {
  return CollectiveSpec::is_some(attachment);
}

}  // namespace

WorldTask::MachineProposal WorldTask::own_proposal() const {
  const board::Roster& roster = context_.roster;
  const board::Proposals proposals(roster);
  MachineProposal proposal;
  for (int rank = 0; rank < roster.local_size(); ++rank) {
    if (!roster.expected(rank)) continue;
    const board::Proposal& words = proposals.words(rank, number_ + 1);
    if (!orders_something(proposal.order)) proposal.order = proposals.attachment(rank, number_ + 1);
    if (proposal.here++ == 0) {
      proposal.rank = roster.rank_of(rank);
      proposal.words = words;
    } else if (proposal.other < 0 && words != proposal.words) {
      proposal.other = roster.rank_of(rank);
      proposal.other_words = words;
    }
  }
  return proposal;
}

board::Time WorldTask::work(board::Time now) {
  if (gathering_ == nullptr && board::Proposals(context_.roster).all_made(number_ + 1)) {
    // Where no rank is left, whatever the others agree on is agreed.
    mine_ = own_proposal();
    proposals_.resize(context_.topology.machines());
    gathering_ = context_.channel->gather(&mine_, sizeof mine_, proposals_.data());
    told_at_ = now + kCurious;
  }
  if (gathering_ != nullptr && gathering_->done()) {
    gathering_.reset();
    check_proposals();
    ++number_;
    told_at_ = asked_at_ = spread_at_ = board::kNever;
    spreads_ = 0;
    missing_ = spread_ = {};
    waiting_ = {};
    conclude();
    proposals_ = {};  // Long, and not needed before the next time.
    return board::kNever;
  }
  const board::Time again_at = look_for_missing(now);
  return gathering_ != nullptr ? now : again_at;
}

void WorldTask::check_proposals() const {
  const std::vector<int>& machine_of = context_.topology.machine_of;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    const MachineProposal& proposal = proposals_[machine];
    const auto ranks = std::count(machine_of.begin(), machine_of.end(), machine);
    const auto theirs = [&](int rank) {
      return rank >= 0 && rank < context_.topology.ranks() && machine_of[rank] == machine;
    };
    const bool proposes = proposal.here > 0 && proposal.here <= ranks && theirs(proposal.rank) &&
                          (proposal.other == -1 || theirs(proposal.other));
    const bool silent = proposal.here == 0 && proposal.rank == -1 && proposal.other == -1;
    if (!proposes && !silent) {
      throw BadMessage(machine, "proposes something in the name of ranks that it has not");
    }
    if (proposal.words.back() != '\0' || proposal.other_words.back() != '\0') {
      throw BadMessage(machine, "proposes something without an end");
    }
  }
}

void WorldTask::conclude() {
  agent::Dispute dispute{.number = number_};
  CollectiveSpec order;
  int here = 0;
  int words_known = 0;
  const auto note = [&](int rank, const board::Proposal& words) {
    if (rank < 0 || words_known == 2 || (words_known == 1 && words == dispute.words[0])) return;
    dispute.ranks[words_known] = rank;
    dispute.words[words_known] = words;
    ++words_known;
  };
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    const MachineProposal& proposal = proposals_[machine];
    here += proposal.here;
    if (proposal.here > 0 && orders_something(proposal.order)) {
      order = CollectiveSpec::unpack(proposal.order, machine, context_.topology);
    }
    note(proposal.rank, proposal.words);
    note(proposal.other, proposal.other_words);
  }
  over_ = here == 0;
  take_order_(order, words_known < 2);
  if (words_known == 2) {
    context_.mailbox.announce_dispute(dispute);
  } else {
    context_.mailbox.announce_agreement(number_);
  }
}

board::Time WorldTask::look_for_missing(board::Time now) {
  if (now >= told_at_) {
    told_at_ = board::kNever;
    if (coordinates()) {
      note_waiting(context_.topology.machine);
    } else {
      context_.send(coordinator(),
                    pack({.kind = WorldMessage::Kind::waits, .number = number_ + 1}));
    }
  }
  if (waiting_.empty()) return board::kNever;
  if (asked_at_ == board::kNever) {
    asked_at_ = now;
    spread_at_ = now + kTimeToAnswer;
    ask_others();
  }
  if (now < spread_at_ || spreads_ == kMostSpreads) return spread_at_;
  answer(context_.topology.machine);
  if (spreads_ > 0 && missing_ == spread_) return board::kNever;
  spread(missing_, context_.topology.machines());
  spread_ = missing_;
  spread_at_ = ++spreads_ == kMostSpreads ? board::kNever : asked_at_ + kLonger * (now - asked_at_);
  return spread_at_;
}

void WorldTask::note_waiting(int machine) {
  waiting_.resize(context_.topology.machines());
  if (missing_ == RankSet()) missing_ = RankSet(context_.topology.ranks());
  waiting_[machine] = true;
  for (int rank = 0; rank < context_.topology.ranks(); ++rank) {
    if (context_.topology.machine_of[rank] == machine) missing_.erase(rank);
  }
}

void WorldTask::ask_others() {
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    if (machine == context_.topology.machine || waiting_[machine]) continue;
    context_.send(machine, pack({.kind = WorldMessage::Kind::ask, .number = number_ + 1}));
  }
}

void WorldTask::spread(const RankSet& ranks, int span) {
  std::vector<int> named = ranks.list();
  if (named.size() > kMostNamed) named.resize(kMostNamed);
  const int machines = context_.topology.machines();
  round::pass_on(1, span, [&](int distance, int theirs) {
    context_.send((context_.topology.machine + distance) % machines,
                  pack({.kind = WorldMessage::Kind::spread,
                        .number = number_ + 1,
                        .span = theirs,
                        .ranks = named}));
  });
}

void WorldTask::answer(int machine) {
  WorldMessage answer{.kind = WorldMessage::Kind::missing, .number = number_ + 1};
  const bool own = machine == context_.topology.machine;
  for (int rank = 0; rank < context_.roster.local_size(); ++rank) {
    const int number = context_.roster.rank_of(rank);
    const bool late =
        gathering_ == nullptr && board::Proposals(context_.roster).awaits(rank, number_ + 1);
    if (late) answer.ranks.push_back(number);
    if (own) late ? missing_.insert(number) : missing_.erase(number);
  }
  if (own) return;
  std::ranges::sort(answer.ranks);
  context_.send(machine, pack(answer));
}

void WorldTask::hear(int from, std::span<const std::byte> bytes) {
  const WorldMessage message = unpack_world_message(bytes, from, context_.topology);
  if (message.number != number_ + 1) return;
  switch (message.kind) {
    case WorldMessage::Kind::ask:
      return answer(from);
    case WorldMessage::Kind::waits:
      if (coordinates()) note_waiting(from);
      return;
    case WorldMessage::Kind::missing:
      if (asked_at_ == board::kNever || waiting_[from]) return;  // Nothing was asked.
      for (const int rank : message.ranks) missing_.insert(rank);
      return;
    case WorldMessage::Kind::spread:
      missing_ = RankSet(context_.topology.ranks());
      for (const int rank : message.ranks) missing_.insert(rank);
      return spread(missing_, message.span);
  }
}

}  // namespace syncopate::world
