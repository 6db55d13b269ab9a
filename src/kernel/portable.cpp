// The kernel in 16-byte vectors of the compiler's own: SSE2 or NEON instructions, whatever the
// architecture's baseline has.
#include "kernel/formats.h"
#include "kernel/loops.h"

namespace syncopate::board::detail {
namespace {

struct Portable {
  using Floats = float __attribute__((vector_size(16)));
  using Doubles = double __attribute__((vector_size(16)));
  using Words = std::uint32_t __attribute__((vector_size(16)));
  using Halves = std::uint16_t __attribute__((vector_size(8)));

  static constexpr bool streams = false;

  static Floats widen(bfloat16, Halves v) {
    return reinterpret_cast<Floats>(__builtin_convertvector(v, Words) << 16);
  }
  static Halves narrow(bfloat16, Floats v) {
    const auto bits = reinterpret_cast<Words>(v);
    const Words rounded_bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const auto is_nan = reinterpret_cast<Words>(v != v);
    const Words words = (is_nan & (bits >> 16 | 0x40)) | (~is_nan & rounded_bits);
    return __builtin_convertvector(words, Halves);
  }

#if defined(__aarch64__)
  // Converting float16 is part of this architecture's baseline.
  using Numbers = __fp16 __attribute__((vector_size(8)));
  static Floats widen(float16, Halves v) {
    return __builtin_convertvector(reinterpret_cast<Numbers>(v), Floats);
  }
  static Halves narrow(float16, Floats v) {
    return reinterpret_cast<Halves>(__builtin_convertvector(v, Numbers));
  }
#else
  static Floats widen(float16, Halves v) {
    return Floats{widen_float16(v[0]), widen_float16(v[1]), widen_float16(v[2]),
                  widen_float16(v[3])};
  }
  static Halves narrow(float16, Floats v) {
    return Halves{narrow_float16(v[0]), narrow_float16(v[1]), narrow_float16(v[2]),
                  narrow_float16(v[3])};
  }
#endif
};

}  // namespace

void sum_portable(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                  void* out, Store store) {
  sum_in<Formats<Portable>>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail
