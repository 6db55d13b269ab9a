#include "syncopate/types.h"

#include "base/float16.h"

namespace syncopate {

bfloat16::bfloat16(float value) : bits(board::narrow_bfloat16(value)) {}
bfloat16::operator float() const { return board::widen_bfloat16(bits); }

float16::float16(float value) : bits(board::narrow_float16(value)) {}
float16::operator float() const { return board::widen_float16(bits); }

const char* to_string(DataType type) {
  switch (type) {
    case DataType::float32:
      return "float32";
    case DataType::float64:
      return "float64";
    case DataType::bfloat16:
      return "bfloat16";
    case DataType::float16:
      return "float16";
  }
  return "unknown type";
}

std::size_t size_of(DataType type) {
  switch (type) {
    case DataType::float32:
      return sizeof(float);
    case DataType::float64:
      return sizeof(double);
    case DataType::bfloat16:
    case DataType::float16:
      return sizeof(std::uint16_t);
  }
  return 0;
}

}  // namespace syncopate
