#include "fabric/mpi/operation.h"

#include "fabric/mpi/check.h"

namespace syncopate::fabric::mpi {
MpiOperation reduction_of(DataType type, Combine combine) {
  const bool bits = combine == Combine::bits;
  switch (type) {
    case DataType::float32:
      return bits ? MpiOperation{MPI_UINT32_T, MPI_BOR, 4} : MpiOperation{MPI_FLOAT, MPI_SUM, 4};
    case DataType::float64:
      return bits ? MpiOperation{MPI_UINT64_T, MPI_BOR, 8} : MpiOperation{MPI_DOUBLE, MPI_SUM, 8};
    case DataType::bfloat16:
    case DataType::float16:
      break;
  }
  fail("a reduction has an element type that is not for it", "This is a mistake in Syncopate");
}

}  // namespace syncopate::fabric::mpi
