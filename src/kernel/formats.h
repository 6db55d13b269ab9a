// The formats of a level (loops.h), made from what the level brings along: vector types,
// conversions of the 16-bit formats, and a way around the caches if it has one. Private to the
// including file, like the loops.
//
// A level has
//   Floats, Doubles, Halves     vectors; of halves as many as of floats
//   widen(T, Halves)            to Floats, for T bfloat16 and float16
//   narrow(T, Floats)           to Halves
//   streams                     whether it has the next two:
//   stream(to, vector)          a store around the caches, to an aligned address
//   fence()                     orders such stores with the flag that says they are done
#pragma once

#include <cstddef>

#include "kernel/scalar.h"
#include "syncopate/types.h"

namespace syncopate::board::detail {
namespace {

/// A vector at any address. (Not by memcpy, which GCC 12 moves as an integer of 32 bytes.)
template <typename Vector>
struct __attribute__((packed, may_alias)) Anywhere {
  Vector vector;
};
template <typename Vector>
inline Vector load_vector(const void* from) {
  return static_cast<const Anywhere<Vector>*>(from)->vector;
}
template <typename Vector>
inline void store_vector(void* to, Vector v) {
  static_cast<Anywhere<Vector>*>(to)->vector = v;
}

template <typename Number, typename Numbers>
struct VectorLanes {
  using Value = Number;
  using Vector = Numbers;
  static constexpr std::size_t width = sizeof(Vector) / sizeof(Value);
  static Vector load(const Value* from) { return load_vector<Vector>(from); }
  static void store(Value* to, Vector v) { store_vector(to, v); }
  /// By subtraction: adding zero would lose the sign of a negative one.
  static Vector broadcast(Value v) { return v - Vector{}; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector multiply(Vector a, Vector b) { return rounded(a * b); }
};

/// Elements that are summed as they are.
template <typename Level, typename Number, typename Numbers>
struct Whole : Level {
  using Element = Number;
  using Lanes = VectorLanes<Number, Numbers>;
  static Numbers read(const std::byte* from) { return load_vector<Numbers>(from); }
  static void write(std::byte* to, Numbers v) { store_vector(to, v); }
};

/// 16-bit elements, which are summed as floats.
template <typename Level, typename T>
struct Half : Level {
  using Element = T;
  using Lanes = VectorLanes<float, typename Level::Floats>;
  using Vector = typename Lanes::Vector;
  static Vector read(const std::byte* from) {
    return Level::widen(T(), load_vector<typename Level::Halves>(from));
  }
  static void write(std::byte* to, Vector v) { store_vector(to, Level::narrow(T(), v)); }
  static void stream(std::byte* to, Vector v) { Level::stream(to, Level::narrow(T(), v)); }
};

template <typename Level>
struct Formats {
  using Float32 = Whole<Level, float, typename Level::Floats>;
  using Float64 = Whole<Level, double, typename Level::Doubles>;
  using Bfloat16 = Half<Level, bfloat16>;
  using Float16 = Half<Level, float16>;
};

}  // namespace
}  // namespace syncopate::board::detail
