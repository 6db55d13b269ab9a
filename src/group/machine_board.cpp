#include "group/machine_board.h"

#include <algorithm>

namespace syncopate::board {

MachineGroupBoard::Share MachineGroupBoard::choose_all(const LocalGroup& where) {
  Share share;
  for (const int rank : where.members) {
    choose(where.step, rank);
    const auto word = MemberWord::unpack(member_word(where.step, rank).load());
    if (word.phase != MemberWord::Phase::confirmed) continue;
    share.contributors.push_back(roster_.rank_of(rank));
    share.staleness = std::max<std::uint64_t>(share.staleness, word.lag);
    share.terms.push_back({.values = slot_values(rank, word.slot), .weight = 1});
  }
  return share;
}

void MachineGroupBoard::publish_mean(const LocalGroup& where, int buffer,
                                     const std::vector<int>& contributors,
                                     std::uint64_t staleness) {
  std::fill(contributors_.begin(), contributors_.end(), 0);
  for (const int number : contributors) {
    contributors_[number / 64] |= std::uint64_t{1} << (number % 64);
  }
  reduction_.describe(buffer,
                      {.round = where.step,
                       .weight = static_cast<double>(contributors.size()),
                       .staleness = staleness},
                      contributors_, nobody_);
  step(Step::publish);
  record(where).done.store(AttemptWord{.round = where.step, .buffer = buffer}.pack());
  let_go(buffer, where, where.members.front());
  record(where).event.signal(platform_);
  // Owners may have waited for their slots.
  hot_->event.signal(platform_);
}

void MachineGroupBoard::note_elsewhere(RoundNumber seen) {
  if (seen <= hot_->elsewhere.load()) return;
  hot_->elsewhere.store(seen);
  hot_->event.signal(platform_);
}

}  // namespace syncopate::board
