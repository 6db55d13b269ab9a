// The arithmetic of a round: a weighted sum of several vectors in the order given, scaled
// once at the end. A pure function of its inputs: any helper computes the same bits, however
// the vectors are cut into chunks.
#pragma once

#include <cstddef>
#include <span>

#include "syncopate/types.h"

namespace syncopate::board {

/// One vector of a sum, and how often it counts.
struct Term {
  const void* values;
  double weight;
};

/// Whether the result is better written around the caches (it is large and read later).
enum class Store { cached, streaming };

/// out[i] = scale * (w0 v0[i] + w1 v1[i] + …), summed from left to right, for `elements` elements.
/// 16-bit types accumulate in float32, float32 in float32, float64 in float64; weights and scale
/// are rounded to the accumulator's type first; a weight or scale of 1 costs and changes nothing;
/// no fused multiply-add is used, so every instruction set gives the same bits. One term with
/// weight and scale 1 is copied bit for bit; no term at all gives zeros. `out` may be one of the
/// terms, and overlaps no other.
void weighted_sum(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                  void* out, Store store = Store::cached);

}  // namespace syncopate::board
