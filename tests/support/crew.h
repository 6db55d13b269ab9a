// Threads or processes: tests of a promise run with both.
#pragma once

#include <array>
#include <functional>

#include "support/processes.h"
#include "support/ranks.h"

namespace syncopate::testing {

enum class Crew { threads, processes };

inline void run(Crew crew, int ranks, const std::function<void(World&)>& body) {
  if (crew == Crew::threads) {
    on_threads(ranks, body);
  } else {
    on_processes(ranks, body);
  }
}

/// One, powers of two and not, primes, and more than any machine of ours has cores.
inline constexpr std::array kRankCounts = {1, 2, 3, 5, 6, 7, 8, 13, 32};

/// A sanitizer makes everything ten times slower; a tenth of the rounds shows it as much.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kThrift = 10;
#else
inline constexpr int kThrift = 1;
#endif

}  // namespace syncopate::testing
