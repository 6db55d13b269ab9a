// What the ranks of a test are: tests of a promise run with each.
#pragma once

#include <array>
#include <functional>

#include "support/mpirun.h"
#include "support/processes.h"
#include "support/ranks.h"

namespace syncopate::testing {

enum class Crew {
  threads,    // of this process, on one board
  processes,  // forked, on one board
  machines,   // threads on several boards, with a fabric in memory between them
  mpirun,     // this process and the others that mpirun started
};

/// `ranks` ranks on machines of one, two and more ranks, dealt in turn or not.
std::vector<World> uneven_machines(int ranks);

inline void run(Crew crew, int ranks, const std::function<void(World&)>& body) {
  switch (crew) {
    case Crew::threads:
      return on_threads(ranks, body);
    case Crew::processes:
      return on_processes(ranks, body);
    case Crew::machines:
      return on_threads(uneven_machines(ranks), body);
    case Crew::mpirun:
      return on_mpirun(ranks, body);
  }
}

/// Whether ranks meet on several boards: then sums are in the order of the fabric, and a round is
/// known to some machines before it is to others.
inline bool on_several_boards(Crew crew) { return crew == Crew::machines || crew == Crew::mpirun; }

/// One, powers of two and not, primes, and more than any machine of ours has cores.
inline constexpr std::array kRankCounts = {1, 2, 3, 5, 6, 7, 8, 13, 32};

/// A sanitizer makes everything ten times slower; a tenth of the rounds shows it as much.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kThrift = 10;
#else
inline constexpr int kThrift = 1;
#endif

}  // namespace syncopate::testing
