// Who shares memory with whom: the machines of the world, which SYNCOPATE_SPLIT may make more of
// (split.h), and a rank's place among them.
#pragma once

#include "fabric/fabric.h"
#include "fabric/mpi/communicator.h"

namespace syncopate::fabric::mpi {

struct Machines {
  Topology topology;
  Communicator machine;  ///< The ranks of this machine; its first has rank 0.
  Communicator agents;   ///< The first rank of every machine, in their order; null on others.
};

/// All ranks of the world call this.
Machines find_machines(const Communicator& world);

}  // namespace syncopate::fabric::mpi
