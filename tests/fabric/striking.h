// What programs share that strikes.sh starts: five ranks, of which 0 and 1, 2, and 3 and 4 share
// machines (SYNCOPATE_SPLIT=2,1), and the log that it reads afterwards.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace syncopate::testing {

inline constexpr int kVictim = 4;  // Not the first of its machine.
inline constexpr int kAgent = 3;   // The first of the same machine.
inline constexpr int kRanks = 5;

/// Into a file, as a launcher that stumbles over the dead loses what was printed.
inline void log(int rank, const char* what) {
  std::FILE* file = std::fopen(std::getenv("SYNCOPATE_TEST_LOG"), "a");
  if (file == nullptr) return;
  std::fprintf(file, "rank %d is %s\n", rank, what);
  std::fclose(file);
}

/// The rank that is struck sees to it itself.
inline void strike_myself(int rank, int signal) {
  log(rank, "struck");
  kill(getpid(), signal);
}

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("not so: " + what);
}

}  // namespace syncopate::testing
