// Sums of the two 16-bit formats: added in float32, rounded to nearest even, with the same bits as
// the board's kernels (board/kernel_convert.h). Written so that a compiler makes vectors of it with
// what every processor of its kind has: no branch, no shift by a variable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate::fabric::mpi {

/// sum[i] = sum[i] + other[i]. The two do not overlap.
void add_bfloat16(const std::uint16_t* other, std::uint16_t* sum, std::size_t elements);
void add_float16(const std::uint16_t* other, std::uint16_t* sum, std::size_t elements);

}  // namespace syncopate::fabric::mpi
