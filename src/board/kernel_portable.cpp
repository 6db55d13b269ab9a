// The kernel in 16-byte vectors of the compiler's own: SSE2 or NEON instructions, whatever the
// architecture's baseline has.
#include "board/kernel_loops.h"

namespace syncopate::board::detail {
namespace {

using Floats = float __attribute__((vector_size(16)));
using Doubles = double __attribute__((vector_size(16)));
using Words = std::uint32_t __attribute__((vector_size(16)));
using Halves = std::uint16_t __attribute__((vector_size(8)));

template <typename Number, typename Numbers>
struct PortableLanes {
  using Value = Number;
  using Vector = Numbers;
  static constexpr std::size_t width = sizeof(Vector) / sizeof(Value);
  static Vector load(const Value* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void store(Value* to, Vector v) { std::memcpy(to, &v, sizeof v); }
  /// By subtraction: adding zero would lose the sign of a negative one.
  static Vector broadcast(Value v) { return v - Vector{}; }
  static Vector add(Vector a, Vector b) { return a + b; }
  static Vector multiply(Vector a, Vector b) { return rounded(a * b); }
};

template <typename Number, typename Numbers>
struct Whole {
  using Element = Number;
  using Lanes = PortableLanes<Number, Numbers>;
  static constexpr bool streams = false;
  static Numbers read(const std::byte* from) {
    Numbers v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static void write(std::byte* to, Numbers v) { std::memcpy(to, &v, sizeof v); }
  static void stream(std::byte* to, Numbers v) { write(to, v); }
  static void fence() {}
};

struct PortableBfloat16 {
  using Element = bfloat16;
  using Lanes = PortableLanes<float, Floats>;
  static constexpr bool streams = false;
  static Floats read(const std::byte* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
  }
  static void write(std::byte* to, Floats v) {
    const auto bits = reinterpret_cast<Words>(v);
    const Words rounded_bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    const auto is_nan = reinterpret_cast<Words>(v != v);
    const Words words = (is_nan & (bits >> 16 | 0x40)) | (~is_nan & rounded_bits);
    const auto halves = __builtin_convertvector(words, Halves);
    std::memcpy(to, &halves, sizeof halves);
  }
  static void stream(std::byte* to, Floats v) { write(to, v); }
  static void fence() {}
};

struct PortableFloat16 {
  using Element = float16;
  using Lanes = PortableLanes<float, Floats>;
  static constexpr bool streams = false;
#if defined(__aarch64__)
  // Converting float16 is part of this architecture's baseline.
  using Numbers = __fp16 __attribute__((vector_size(8)));
  static Floats widen(Halves v) {
    return __builtin_convertvector(reinterpret_cast<Numbers>(v), Floats);
  }
  static Halves narrow(Floats v) {
    return reinterpret_cast<Halves>(__builtin_convertvector(v, Numbers));
  }
#else
  static Floats widen(Halves v) {
    return Floats{widen_float16(v[0]), widen_float16(v[1]), widen_float16(v[2]),
                  widen_float16(v[3])};
  }
  static Halves narrow(Floats v) {
    return Halves{narrow_float16(v[0]), narrow_float16(v[1]), narrow_float16(v[2]),
                  narrow_float16(v[3])};
  }
#endif
  static Floats read(const std::byte* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return widen(halves);
  }
  static void write(std::byte* to, Floats v) {
    const Halves halves = narrow(v);
    std::memcpy(to, &halves, sizeof halves);
  }
  static void stream(std::byte* to, Floats v) { write(to, v); }
  static void fence() {}
};

struct Portable {
  using Float32 = Whole<float, Floats>;
  using Float64 = Whole<double, Doubles>;
  using Bfloat16 = PortableBfloat16;
  using Float16 = PortableFloat16;
};

}  // namespace

void sum_portable(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                  void* out, Store store) {
  sum_in<Portable>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail
