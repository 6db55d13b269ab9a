// MPI's life in this process: started here unless the program did, and then ended here, when the
// process exits. In between it lives on, however many links come and go.
#pragma once

namespace syncopate::fabric::mpi {

/// Starts MPI if it is not running. Throws if it cannot be used from the agent's thread.
void start();

/// From now on the end of the process is not that of MPI, which would wait for every rank.
void leave_running();
/// The same as long as a link is in use: a process that exits in the middle of things is to be
/// missed by the others, and not to wait for them.
void count_link(int change);

/// False from the moment MPI was finalised, by whomever; nothing of MPI may be called then.
bool running();

}  // namespace syncopate::fabric::mpi
