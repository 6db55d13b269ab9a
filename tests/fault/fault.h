// Strikes one rank of a partial allreduce with a signal at a chosen step of the protocol and
// checks what the others make of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fault/blow.h"
#include "syncopate/policy.h"

namespace syncopate::testing {

struct Strike {
  Blow blow;
  Trigger trigger;
  int ranks = 3;           ///< Two of them settle rounds of two elements between themselves.
  int elements = 7;        ///< Four chunks in the stepped library.
  bool twice = false;      ///< Every rank deposits twice per wait, so that deposits are merged.
  bool told = false;       ///< The launcher notes the death, as `syncopate run` does.
  bool finishing = false;  ///< Count steps from finish() on only.
};

std::string to_string(const Strike& strike);

/// What the ranks tell the test, in memory that survives them.
struct FaultBook {
  static constexpr int kMostRanks = 3;
  static constexpr int kMostElements = 7;
  static constexpr int kRounds = 64;

  struct Seen {
    double values[kMostElements];
    std::uint64_t contributors;
    double weight;
    std::uint64_t staleness;
    bool last;
  };
  struct Rank {
    std::atomic<std::uint32_t> begun;  ///< Deposits it was about to make.
    std::atomic<std::uint32_t> made;   ///< Deposits that are on the board for sure.
    std::atomic<std::uint32_t> rounds;
    Seen seen[kRounds];
  };
  Marks marks;
  Rank ranks[kMostRanks];
};

/// Runs one case and checks all that the survivors can know.
Struck survive(const Strike& strike);

}  // namespace syncopate::testing
