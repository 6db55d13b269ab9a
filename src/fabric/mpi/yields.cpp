#include "fabric/mpi/yields.h"

#include <mpi.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "fabric/mpi/session.h"

#if defined(OPEN_MPI)

/// Returns what was set before. Not in any header that is installed: where a later Open MPI has
/// none, it goes on yielding.
extern "C" __attribute__((weak, visibility("default"))) bool opal_progress_set_yield_when_idle(
    bool yields);

namespace syncopate::fabric::mpi {
namespace {

std::mutex mutex;      ///< For the rest: a process may have several worlds.
int agents = 0;        ///< At work in this process.
bool yielded = false;  ///< Before the first of them.

/// A user who sets it by hand has it so, and a program that started MPI may wait in it.
bool may_change() {
  return opal_progress_set_yield_when_idle != nullptr && started_here() &&
         std::getenv("OMPI_MCA_mpi_yield_when_idle") == nullptr;
}

}  // namespace

NoYields::NoYields() {
  const std::lock_guard lock(mutex);
  if (agents++ == 0 && may_change()) yielded = opal_progress_set_yield_when_idle(false);
}

NoYields::~NoYields() {
  const std::lock_guard lock(mutex);
  if (--agents == 0 && std::exchange(yielded, false)) opal_progress_set_yield_when_idle(true);
}

}  // namespace syncopate::fabric::mpi

#else

namespace syncopate::fabric::mpi {

NoYields::NoYields() = default;
NoYields::~NoYields() = default;

}  // namespace syncopate::fabric::mpi

#endif
