// What a round tells each rank about itself.
#pragma once

#include <cstdint>

#include "syncopate/policy.h"
#include "syncopate/rank_set.h"

namespace syncopate {

struct Receipt {
  std::uint64_t round = 0;      ///< 1, 2, 3 …
  RankSet contributors;         ///< Ranks whose deposit is in the result.
  bool included = false;        ///< Whether this rank's deposit is in it.
  RankSet dropped;              ///< Ranks that report deposits dropped as too old.
  std::uint64_t drops = 0;      ///< How many deposits they report.
  std::uint64_t staleness = 0;  ///< The largest staleness among the contributions.
  double weight = 0;            ///< The total weight in the result.
  Duration waited{0};           ///< How long this rank waited for the round, to a microsecond.
  int waited_for = -1;          ///< The rank it waited for (the last that came), or -1.
  bool last = false;            ///< The round that finish() runs for everyone.
  RankSet dead;                 ///< Ranks known to have died, up to now.
};

}  // namespace syncopate
