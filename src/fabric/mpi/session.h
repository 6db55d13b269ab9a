// MPI's life in this process: started here unless the program did, and then ended here, when the
// process exits. In between it lives on, however many links come and go.
#pragma once

#include <chrono>

namespace syncopate::fabric::mpi {

/// Starts MPI if it is not running. Throws if it cannot be used from the agent's thread. If MPI
/// does not come back within the time, the process ends: nothing else gets it out of MPI_Init.
void start(std::chrono::nanoseconds timeout);

/// Whether MPI was started by this, and not by the program.
bool started_here();

/// From now on the end of the process is not that of MPI, which would wait for every rank.
void leave_running();

/// A user of MPI. The end of the process is not that of MPI meanwhile: a process that exits
/// in the middle of things is to be missed by the others, and not to wait for them.
class User {
 public:
  User();
  virtual ~User();
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  /// The program ends MPI nonetheless: called on the thread that does, while MPI still works.
  virtual void before_end() = 0;
};

/// False from the moment MPI was finalized, by whomever; nothing of MPI may be called then.
bool running();

}  // namespace syncopate::fabric::mpi
