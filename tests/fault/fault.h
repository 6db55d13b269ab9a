// Strikes one rank with a signal at a chosen step of the protocol and checks what the others
// make of it. Ranks are processes on the stepped library; the hook in the victim counts its
// steps and raises the signal on itself, so every case is exactly as it says.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "board/step.h"
#include "support/common.h"
#include "support/processes.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::testing {

/// When the victim comes, compared with the others. It decides which roles it plays: who comes
/// first waits and helps; who comes last starts the round, or finds it done.
enum class Arrival { early, late };

struct Strike {
  board::Step step;
  int occurrence = 1;  ///< At which of the victim's steps of this kind.
  int signal = 0;      ///< SIGKILL or SIGSTOP.
  Trigger trigger;
  Arrival arrival = Arrival::early;
  int victim = 1;
  bool twice = false;      ///< Every rank deposits twice per wait, so that deposits are merged.
  bool told = false;       ///< The launcher notes the death, as `syncopate run` does.
  bool finishing = false;  ///< Count steps from finish() on only.
  int at_retry = 0;        ///< A signal for the rank that first gives up on the victim's chunk.
};

std::string to_string(const Strike& strike);
const char* name_of(board::Step step);

/// What the ranks tell the test, in memory that survives them.
struct FaultBook {
  static constexpr int kRanks = 3;
  static constexpr int kElements = 7;  ///< Four chunks in the stepped library.
  static constexpr int kRounds = 64;

  struct Seen {
    double values[kElements];
    std::uint64_t contributors;
    double weight;
    std::uint64_t staleness;
    bool last;
  };
  struct Rank {
    std::atomic<std::uint32_t> begun;  ///< Deposits it was about to make.
    std::atomic<std::uint32_t> made;   ///< Deposits that are on the board for sure.
    std::atomic<int> arrived;          ///< Steps in which it has slept or returned.
    std::atomic<bool> in_world;        ///< Has made its collective.
    std::atomic<bool> through;         ///< Is about to finish.
    std::atomic<bool> leaving;         ///< Is done and takes down its world.
    std::atomic<std::uint64_t> dead;   ///< Whom it knows to be dead, at the end.
    std::atomic<std::uint32_t> rounds;
    Seen seen[kRounds];
  };
  std::atomic<bool> struck;           ///< The victim came to the step.
  std::atomic<bool> retried;          ///< A rank gave up on a chunk of the victim's.
  std::atomic<std::uint64_t> killed;  ///< Ranks that were struck with SIGKILL.
  Rank ranks[kRanks];
};

struct Struck {
  bool struck = false;   ///< The victim came to the step at all.
  bool retried = false;  ///< … and another rank gave up on its chunk.
};

/// Runs one case and checks all that the survivors can know.
Struck survive(const Strike& strike);

}  // namespace syncopate::testing
