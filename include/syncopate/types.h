// The element types a collective can carry: float, double and the two 16-bit formats of
// machine learning. The 16-bit types hold bits; sums over them are accumulated in float32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syncopate {

/// The upper half of a float32: its range, 8 bits of precision.
struct bfloat16 {
  std::uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value);  ///< Rounds to nearest, ties to even.
  explicit operator float() const;
  friend bool operator==(bfloat16 a, bfloat16 b) { return float(a) == float(b); }
};

/// IEEE 754 half precision.
struct float16 {
  std::uint16_t bits = 0;
  float16() = default;
  explicit float16(float value);  ///< Rounds to nearest, ties to even.
  explicit operator float() const;
  friend bool operator==(float16 a, float16 b) { return float(a) == float(b); }
};

enum class DataType : std::uint8_t { float32, float64, bfloat16, float16 };

/// "float32", "float64", "bfloat16" or "float16".
const char* to_string(DataType type);

/// Bytes per element.
std::size_t size_of(DataType type);

template <typename T>
inline constexpr DataType data_type = [] {
  static_assert(sizeof(T) == 0, "a collective carries float, double, bfloat16 or float16");
  return DataType::float32;
}();
template <>
inline constexpr DataType data_type<float> = DataType::float32;
template <>
inline constexpr DataType data_type<double> = DataType::float64;
template <>
inline constexpr DataType data_type<bfloat16> = DataType::bfloat16;
template <>
inline constexpr DataType data_type<float16> = DataType::float16;

}  // namespace syncopate
