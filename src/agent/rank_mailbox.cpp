#include "agent/rank_mailbox.h"

#include "agent/driver.h"
#include "agent/mailbox.h"

namespace syncopate::agent {

void RankMailbox::attend(const board::Event& event, std::uint64_t seen, board::Time until) {
  if (driver_ != nullptr) driver_->drive(event, seen, until);
}

std::string RankMailbox::awaited() const {
  RankSet ranks = ranks_in(desk_.awaited, roster_.world_size());
  ranks.erase(roster_.rank());
  if (ranks.empty()) return "other machines";
  return (ranks.size() > 1 ? "ranks " : "rank ") + to_string(ranks);
}

void RankMailbox::check() const {
  if (closed_) throw *closed_;
  // A rank that leaves before the others lives until they have left, too, for its agent's sake.
  // (Asked first, as an agent that fails says why before its process ends.)
  const bool gone = !roster_.has_process(board::Roster::kAgentsRank);
  if (desk_.failed.load() != 0) {
    throw Error(ErrorCode::machine_lost, desk_.what_happened.data(), desk_.what_to_do.data());
  }
  if (gone) {
    missed_ = true;
    throw Error(
        ErrorCode::machine_lost,
        roster_.describe(board::Roster::kAgentsRank) + ", which spoke for this machine, is gone",
        kStartAgain);
  }
}

}  // namespace syncopate::agent
