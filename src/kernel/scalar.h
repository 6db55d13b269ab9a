// One element at a time: what the vector levels do with fewer elements than a vector holds.
// Private to the including file, like the loops that use it.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "base/float16.h"
#include "syncopate/types.h"

namespace syncopate::board::detail {
namespace {

/// Hides where a product comes from, at no instruction's cost. Otherwise the compiler may fuse it
/// with the sum that follows into one rounding, on processors that can, and break the promise that
/// all give the same bits.
template <typename Vector>
inline Vector rounded(Vector product) {
#if defined(__x86_64__)
  asm("" : "+x"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#else
  asm("" : "+m"(product));
#endif
  return product;
}

template <typename Number>
struct ScalarLanes {
  using Value = Number;
  using Vector = Number;
  static constexpr std::size_t width = 1;
  static Vector load(const Value* from) { return *from; }
  static void store(Value* to, Vector v) { *to = v; }
  static Vector broadcast(Value v) { return v; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector multiply(Vector a, Vector b) { return rounded(a * b); }
};

template <typename T>
struct ScalarFormat {
  using Element = T;
  using Lanes = ScalarLanes<std::conditional_t<std::is_same_v<T, double>, double, float>>;
  using Value = typename Lanes::Value;
  static constexpr bool streams = false;

  static Value read(const std::byte* from) {
    T element;
    std::memcpy(&element, from, sizeof element);
    if constexpr (std::is_same_v<T, bfloat16>) {
      return widen_bfloat16(element.bits);
    } else if constexpr (std::is_same_v<T, float16>) {
      return widen_float16(element.bits);
    } else {
      return element;
    }
  }
  static void write(std::byte* to, Value value) {
    T element;
    if constexpr (std::is_same_v<T, bfloat16>) {
      element.bits = narrow_bfloat16(value);
    } else if constexpr (std::is_same_v<T, float16>) {
      element.bits = narrow_float16(value);
    } else {
      element = value;
    }
    std::memcpy(to, &element, sizeof element);
  }
};

}  // namespace
}  // namespace syncopate::board::detail
