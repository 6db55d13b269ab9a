#include "board/core_sharing.h"

#include <algorithm>

namespace syncopate::board {

bool CoreSharing::shared(int core) const {
  const Seats& seats = roster_.seats();
  const int own = roster_.local_rank();
  const auto mark = static_cast<std::uint32_t>(core) + 1;
  if (seats[own].core.load_relaxed() != mark) seats[own].core.store_relaxed(mark);
  for (int other = 0; other < seats.size(); ++other) {
    if (other == own || seats[other].core.load_relaxed() != mark) continue;
    if (roster_.expected(other)) return true;
  }
  return false;
}

Cores::Mask CoreSharing::without_ranks() const {
  Cores::Mask cores = platform_.cores().mask;
  const Seats& seats = roster_.seats();
  for (int other = 0; other < seats.size(); ++other) {
    const std::uint32_t mark = seats[other].core.load_relaxed();
    if (other == roster_.local_rank() || mark == 0 || mark > Cores::kMost) continue;
    if (!roster_.expected(other)) continue;
    cores[(mark - 1) / 64] &= ~(std::uint64_t{1} << ((mark - 1) % 64));
  }
  return cores;
}

Time CoreSharing::resolve(Time now) {
  const int core = platform_.core();
  if (core < 0 || !shared(core)) return now;
  const Time since = now - moved_at_;
  if (since < rest_) return platform_.yield(now);
  const Cores::Mask free = without_ranks();
  if (free == Cores::Mask{}) return platform_.yield(now);
  rest_ = since < 4 * rest_ ? std::min(2 * rest_, kLongestRest) : kShortestRest;
  moved_at_ = platform_.move_to(free, now);
  shared(platform_.core());
  return moved_at_;
}

}  // namespace syncopate::board
