#include "board/proposals.h"

#include <functional>
#include <string_view>

#include "base/check.h"

namespace syncopate::board {

std::uint64_t Proposals::propose(const Proposal& proposal, const Attachment& attachment) {
  Seat& seat = seats_[roster_.local_rank()];
  // After a timeout the same proposal is still on the table, and others may yet come to it.
  const bool again = unanswered_ && seat.proposals[proposed_ % 2] == proposal;
  unanswered_ = false;
  if (!again) {
    ++proposed_;
    SYNCOPATE_CHECK(seat.proposed.load_relaxed() + 1 == proposed_, "proposals.h 1");
    seat.proposals[proposed_ % 2] = proposal;
    seat.attachments[proposed_ % 2] = attachment;
    seat.digests[proposed_ % 2] = std::hash<std::string_view>{}({proposal.data(), proposal.size()});
    seat.proposed.store(proposed_);
  }
  return proposed_;
}

bool Proposals::all_made(std::uint64_t number) const {
  for (int local_rank = 0; local_rank < seats_.size(); ++local_rank) {
    if (awaits(local_rank, number)) return false;
  }
  return true;
}

std::string Proposals::describe_awaited(std::uint64_t number) const {
  std::string missing;
  for (int local_rank = 0; local_rank < seats_.size(); ++local_rank) {
    if (!awaits(local_rank, number)) continue;
    missing += (missing.empty() ? "" : ", ") + roster_.describe(local_rank);
  }
  return missing;
}

void Proposals::compare_for_all(std::uint64_t number, Platform& platform) const {
  for (int local_rank = 0; local_rank < seats_.size(); ++local_rank) {
    if (disagreement(local_rank) != nullptr) return event().signal(platform);
  }
  event().announce(platform, number);
}

const Proposal* Proposals::disagreement(int local_rank) const {
  if (agreed(proposed_)) return nullptr;  // Another rank has compared.
  const Seat& theirs = seats_[local_rank];
  if (theirs.proposed.load() < proposed_) return nullptr;
  // The digest lies beside the number just read; the words are a longer way off.
  const Seat& mine = seats_[roster_.local_rank()];
  if (theirs.digests[proposed_ % 2] == mine.digests[proposed_ % 2]) return nullptr;
  const Proposal& words = theirs.proposals[proposed_ % 2];
  return words == mine.proposals[proposed_ % 2] ? nullptr : &words;
}

}  // namespace syncopate::board
