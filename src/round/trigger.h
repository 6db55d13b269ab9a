// When a round starts: the rule of each trigger, as a pure function of who has come,
// however that is known.
#pragma once

#include <cstdint>

#include "syncopate/policy.h"

namespace syncopate::round {

/// Who has come, counted.
struct Attendance {
  int counting = 0;         ///< Ranks that rounds may be waited for.
  int counting_here = 0;    ///< Those of them that have a deposit.
  int here = 0;             ///< All ranks that have a deposit, also gone ones.
  bool drawn_here = false;  ///< Whether the rank drawn for this round has one.

  bool everyone() const { return counting_here == counting; }
};

inline bool holds(const Trigger& trigger, const Attendance& attendance) {
  if (attendance.here == 0) return false;
  if (attendance.everyone()) return true;
  switch (trigger.kind) {
    case Trigger::Kind::all:
      return false;
    case Trigger::Kind::first:
      return true;
    case Trigger::Kind::majority:
      return attendance.drawn_here;
    case Trigger::Kind::count:
      return attendance.here >= trigger.count;
  }
  return false;
}

/// A well-mixed function of its arguments (the finalizer of splitmix64).
constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15 * (a + 1) + 0xd1b54a32d192ed03 * b;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// A number below `bound`, as even as 32 bits allow.
constexpr int below(int bound, std::uint64_t random) {
  return static_cast<int>((random >> 32) * unsigned(bound) >> 32);
}

/// The rank drawn to start `round`: the same on every rank that agrees on who counts. The turn
/// of a rank that does not count passes to the next draw. -1 if no rank counts.
template <typename Counts>
int draw(std::uint64_t seed, std::uint64_t round, int ranks, const Counts& counts) {
  // A few hundred draws find a rank unless almost all are gone; then the first who is left.
  constexpr int kDraws = 256;
  for (int attempt = 0; attempt < kDraws; ++attempt) {
    const int rank = below(ranks, mix(seed, round, attempt));
    if (counts(rank)) return rank;
  }
  for (int rank = 0; rank < ranks; ++rank) {
    if (counts(rank)) return rank;
  }
  return -1;
}

}  // namespace syncopate::round
