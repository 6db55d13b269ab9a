// Waits for what all ranks do together while a world is made; not for ever, as one of them may have
// failed meanwhile.
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "fabric/mpi/check.h"

namespace syncopate::fabric::mpi {

/// From here on a machine is late, and the core may be wanted by others.
inline constexpr std::chrono::milliseconds kAwakeFor{1};
inline constexpr std::chrono::microseconds kNap{100};

/// `memory` is what MPI writes to. It stays for ever if this throws, as MPI may write to it later.
template <typename Memory>
std::unique_ptr<Memory> await(MPI_Request request, std::unique_ptr<Memory> memory,
                              std::chrono::nanoseconds timeout) {
  const auto begin = std::chrono::steady_clock::now();
  for (int done = 0;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return memory;
    const auto waited = std::chrono::steady_clock::now() - begin;
    if (waited > timeout) break;
    if (waited < kAwakeFor) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  static_cast<void>(memory.release());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
  fail("while the world was made some rank did not come for " + std::to_string(seconds) + " s",
       "Look for what it has said, or allow more time (SYNCOPATE_TIMEOUT, in seconds)");
}

}  // namespace syncopate::fabric::mpi
