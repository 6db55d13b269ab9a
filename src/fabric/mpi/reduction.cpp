#include "fabric/mpi/reduction.h"

#include <cstdint>

#include "fabric/mpi/check.h"
#include "fabric/mpi/sixteen_bits.h"

namespace syncopate::fabric::mpi {
namespace {

using Add = void (*)(const std::uint16_t* other, std::uint16_t* sum, std::size_t elements);

template <Add add>  // NOLINTNEXTLINE(readability-non-const-parameter): the signature is MPI's.
void combine_sixteen_bits(void* other, void* sum, int* elements, MPI_Datatype*) {
  add(static_cast<const std::uint16_t*>(other), static_cast<std::uint16_t*>(sum), *elements);
}

/// Made once, and left to MPI_Finalize: a reduction of any channel may be using it.
template <Add add>
MPI_Op sum_of_sixteen_bits() {
  static const MPI_Op operation = [] {
    MPI_Op made = MPI_OP_NULL;
    check(MPI_Op_create(&combine_sixteen_bits<add>, /*commute=*/1, &made), "MPI_Op_create");
    return made;
  }();
  return operation;
}

}  // namespace

Reduction reduction_of(DataType type, Combine combine) {
  const bool bits = combine == Combine::bits;
  switch (type) {
    case DataType::float32:
      return bits ? Reduction{MPI_UINT32_T, MPI_BOR, 4} : Reduction{MPI_FLOAT, MPI_SUM, 4};
    case DataType::float64:
      return bits ? Reduction{MPI_UINT64_T, MPI_BOR, 8} : Reduction{MPI_DOUBLE, MPI_SUM, 8};
    case DataType::bfloat16:
      return {MPI_UINT16_T, bits ? MPI_BOR : sum_of_sixteen_bits<add_bfloat16>(), 2};
    case DataType::float16:
      return {MPI_UINT16_T, bits ? MPI_BOR : sum_of_sixteen_bits<add_float16>(), 2};
  }
  fail("a reduction has an element type that is not known", "This is a mistake in Syncopate");
}

}  // namespace syncopate::fabric::mpi
