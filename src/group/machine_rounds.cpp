#include "group/machine_rounds.h"

#include <algorithm>

#include "base/bits.h"

namespace syncopate::group {

MachineRounds::MachineRounds(std::byte* memory, const Shape& shape, const board::Roster& roster,
                             board::Platform& platform)
    : board_(memory, shape, roster, platform), roster_(roster), platform_(platform) {}

MachineRounds::Share MachineRounds::choose(const LocalGroup& where) {
  Share share;
  for (const int rank : where.members) {
    board_.rounds.choose(where.step, rank);
    const MemberWord word = board_.rounds.choice(where.step, rank);
    if (word.phase != MemberWord::Phase::confirmed) continue;
    share.contributors.push_back(roster_.rank_of(rank));
    share.staleness = std::max<std::uint64_t>(share.staleness, word.lag);
    share.terms.push_back({.values = board_.memory.values(rank, word.slot), .weight = 1});
  }
  return share;
}

bool MachineRounds::reserve(const LocalGroup& where, Reserved& place) {
  place.buffer = board_.results.hold(where);
  return place.buffer != kNoBuffer;
}

void MachineRounds::Said::add(const std::vector<int>& ranks, std::uint64_t oldest) {
  contributors.insert(contributors.end(), ranks.begin(), ranks.end());
  staleness = std::max(staleness, oldest);
}

void MachineRounds::publish(const LocalGroup& where, const Reserved& place, const Said& said) {
  if (place.buffer == kNoBuffer) return;
  const std::size_t words = bits::words_for(board_.shape.world_ranks);
  std::vector<std::uint64_t> contributors(words);
  for (const int rank : said.contributors) bits::insert(contributors, rank);
  board_.results.buffers().describe(place.buffer,
                                    {.round = where.step,
                                     .weight = static_cast<double>(said.contributors.size()),
                                     .staleness = said.staleness},
                                    contributors, std::vector<std::uint64_t>(words));
  board_.results.publish_alone(where, place.buffer);
  board_.results.let_go(place.buffer, where);
  board_.rounds.signal(where);
  // Owners may have waited for their slots.
  board_.window.event().signal(platform_);
}

}  // namespace syncopate::group
