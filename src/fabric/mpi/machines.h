// Who shares memory with whom: the machines of the world, and a rank's place among them.
//
// SYNCOPATE_SPLIT makes several machines of one, for tests: "2" puts two ranks on each; "1,3,2" one
// rank on the first, three on the second, two on the third, one on the fourth, and so on.
#pragma once

#include "fabric/fabric.h"
#include "fabric/mpi/communicator.h"

namespace syncopate::fabric::mpi {

inline constexpr const char* kSplitVariable = "SYNCOPATE_SPLIT";

struct Machines {
  Place place;
  Communicator machine;  ///< The ranks of this machine; its first has rank 0.
  Communicator agents;   ///< The first rank of every machine, in their order; null on others.
};

/// All ranks of the world call this.
Machines find_machines(const Communicator& world);

}  // namespace syncopate::fabric::mpi
