// What MPI is told to make of two values that meet: its type and operation for each of ours.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "fabric/fabric.h"

namespace syncopate::fabric::mpi {

struct MpiOperation {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  std::size_t element_bytes = 0;
};

MpiOperation reduction_of(DataType type, Combine combine);

}  // namespace syncopate::fabric::mpi
