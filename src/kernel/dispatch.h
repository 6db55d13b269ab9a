// Which instruction sets the kernel is compiled for, and the kernel at each of them. The library
// itself is built for the plainest processor of its architecture; the best level that this
// processor has is chosen on first use. Tests call every level and compare.
#pragma once

#include <cstddef>
#include <span>

#include "kernel/kernel.h"
#include "syncopate/types.h"

// The one place that asks for the architecture: without these levels only `portable` remains.
#if defined(__x86_64__)
#define SYNCOPATE_KERNEL_X86 1
#else
#define SYNCOPATE_KERNEL_X86 0
#endif

namespace syncopate::board::detail {

enum class Level {
  portable,  ///< 16-byte vectors as the compiler makes them for the architecture's baseline.
  avx2,      ///< AVX2 and F16C.
  avx512,    ///< AVX-512 F, nothing beyond.
};

const char* to_string(Level level);

/// From the plainest to the best of this processor.
std::span<const Level> supported_levels();

/// `weighted_sum` at one level, which has to be a supported one.
void weighted_sum_at(Level level, DataType type, std::size_t elements, std::span<const Term> terms,
                     double scale, void* out, Store store);

/// The general case, at one level: at least one term and one element.
using Sum = void (*)(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                     void* out, Store store);
void sum_portable(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                  void* out, Store store);
void sum_avx2(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
              void* out, Store store);
void sum_avx512(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                void* out, Store store);

}  // namespace syncopate::board::detail
