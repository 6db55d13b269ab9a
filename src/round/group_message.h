// What the agents of two machines say to each other about the averages of groups, and what each
// agent reads from its own board.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

#include "syncopate/group_average.h"

namespace syncopate::round {

/// What the board of a machine says of one of its ranks.
struct GroupFacts {
  bool counts = false;          ///< Rounds use its weights, and may be waited for it.
  std::uint64_t published = 0;  ///< The step of its newest weights.
  std::uint64_t seen = 0;       ///< The steps it has been through.
  bool waits = false;           ///< For the mean of `published`, which is not there yet.
  Duration step_time{0};        ///< How long its steps typically take.

  bool is_through() const { return seen >= published; }
};

/// What a machine says that its ranks have seen when no rank is left there: more than any step.
inline constexpr std::uint64_t kBeyondAllSteps = std::numeric_limits<std::int64_t>::max();

/// What every rank of a machine has seen.
inline std::uint64_t least_seen(std::span<const GroupFacts> own) {
  std::uint64_t least = kBeyondAllSteps;
  for (const GroupFacts& rank : own) {
    if (rank.counts) least = std::min(least, rank.seen);
  }
  return least;
}

/// The machine that finds out for the others which ranks have yet to come to a step.
inline int coordinator_of(std::uint64_t step, int machines) {
  return static_cast<int>(step % static_cast<unsigned>(machines));
}

/// The average of a group at a step.
struct GroupRound {
  std::uint64_t step = 0;
  int group = 0;
  friend bool operator==(const GroupRound&, const GroupRound&) = default;
  friend bool operator<(const GroupRound& a, const GroupRound& b) {
    return std::tie(a.step, a.group) < std::tie(b.step, b.group);
  }
};

struct GroupMessage {
  enum class Kind : std::uint8_t {
    share,    // what the sender brings to `round`, which is on
    here,     // all members of the sender's machine have come to `round`
    ask,      // tell me when your ranks have seen `step`
    seen,     // the sender's ranks have seen `step`
    who,      // of yours is waited for? As GroupWanted says, with `round`, `member`, `step`, `seen`
    missing,  // `ranks` are, of those asked about with the same
    ask_all,  // to the coordinator of `step`: tell me when the ranks of all machines have seen it
    all_seen,     // the ranks of all machines have seen `step`
    who_all,      // to the coordinator of `step`: who of all ranks is waited for? As `who`
    all_missing,  // `ranks` of any machines are
  };
  Kind kind = Kind::share;
  GroupRound round;
  int member = 0;  ///< One of the group, from which its others follow.
  std::uint64_t step = 0;
  std::uint64_t seen = 0;  ///< With a share: what the sender's ranks have seen.
  std::uint64_t staleness = 0;
  std::vector<int> ranks;  ///< Contributors, or who is missing, by their numbers in the world.
};

struct GroupOutgoing {
  int to;
  GroupMessage message;
};
using GroupOutbox = std::vector<GroupOutgoing>;

}  // namespace syncopate::round
