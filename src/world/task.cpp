#include "world/task.h"

#include <algorithm>

#include "base/bad_message.h"
#include "world/messages.h"

namespace syncopate::detail {
namespace {

/// From here on whoever waits wants to know for whom.
constexpr board::Time kCurious = 200'000'000;

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
  if (gathering_ == nullptr) {
    // Where nobody is left, whatever the others agree on is agreed.
    if (!board::Proposals(context_.roster).all_made(number_ + 1)) return board::kNever;
    mine_ = own_proposal();
    proposals_.resize(context_.topology.machines());
    gathering_ = context_.channel->gather(&mine_, sizeof mine_, proposals_.data());
    missing_ = RankSet(context_.topology.ranks());
    ask_at_ = now + kCurious;
  }
  if (gathering_->done()) {
    gathering_.reset();
    ask_at_ = board::kNever;
    check_proposals();
    ++number_;
    conclude();
  } else if (now >= ask_at_) {
    ask_who_is_missing();
  }
  return gathering_ != nullptr ? now : board::kNever;
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
  Dispute dispute{.number = number_};
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

void WorldTask::ask_who_is_missing() {
  ask_at_ = board::kNever;
  for (int machine = 0; machine < context_.topology.machines(); ++machine) {
    if (machine == context_.topology.machine) continue;
    context_.send(machine, pack({.kind = WorldMessage::Kind::ask, .number = number_ + 1}));
  }
}

void WorldTask::hear(int from, std::span<const std::byte> bytes) {
  const WorldMessage message = unpack_world_message(bytes, from, context_.topology);
  if (message.number != number_ + 1) return;
  if (message.kind == WorldMessage::Kind::missing) {
    if (gathering_ == nullptr) return;  // Nothing was asked.
    for (const int rank : message.ranks) missing_.insert(rank);
    return;
  }
  const board::Proposals proposals(context_.roster);
  WorldMessage answer{.kind = WorldMessage::Kind::missing, .number = message.number};
  for (int rank = 0; gathering_ == nullptr && rank < context_.roster.local_size(); ++rank) {
    if (proposals.awaits(rank, number_ + 1)) {
      answer.ranks.push_back(context_.roster.rank_of(rank));
    }
  }
  std::ranges::sort(answer.ranks);
  context_.send(from, pack(answer));
}

}  // namespace syncopate::detail
