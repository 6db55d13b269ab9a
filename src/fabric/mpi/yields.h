// On a node with more ranks than cores Open MPI offers its core to others whenever it is asked for
// something that is not there yet, and if these compute it gets the core back with a later tick of
// the kernel. For a rank that waits in MPI that is right. Agents ask all the time and have other
// things to do, and sleep by themselves: while one is at work, Open MPI does not yield. (MPICH does
// not unless told so.)
#pragma once

namespace syncopate::fabric::mpi {

class NoYields {
 public:
  NoYields();
  ~NoYields();
  NoYields(const NoYields&) = delete;
  NoYields& operator=(const NoYields&) = delete;
};

}  // namespace syncopate::fabric::mpi
