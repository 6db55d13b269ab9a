// The kernel in 64-byte vectors: whole cache lines. Only the foundation (AVX-512 F) is used; the
// bfloat16 instructions are not, because they flush subnormal numbers to zero.
#include "board/kernel_dispatch.h"

#if SYNCOPATE_KERNEL_X86

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "board/kernel_convert.h"
#include "board/kernel_target.h"

SYNCOPATE_TARGET_BEGIN("avx512f")

#include "board/kernel_loops.h"

namespace syncopate::board::detail {
namespace {

struct Floats {
  using Value = float;
  using Vector = __m512;
  static constexpr std::size_t width = 16;
  static Vector load(const Value* from) { return _mm512_loadu_ps(from); }
  static void store(Value* to, Vector v) { _mm512_storeu_ps(to, v); }
  static Vector broadcast(Value v) { return _mm512_set1_ps(v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return rounded(_mm512_mul_ps(a, b)); }
};

struct Doubles {
  using Value = double;
  using Vector = __m512d;
  static constexpr std::size_t width = 8;
  static Vector load(const Value* from) { return _mm512_loadu_pd(from); }
  static void store(Value* to, Vector v) { _mm512_storeu_pd(to, v); }
  static Vector broadcast(Value v) { return _mm512_set1_pd(v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static Vector multiply(Vector a, Vector b) { return rounded(_mm512_mul_pd(a, b)); }
};

struct Streaming {
  static constexpr bool streams = true;
  /// Streamed stores are not ordered with the flag that says they are done; this orders them.
  static void fence() { _mm_sfence(); }
};

struct Float32 : Streaming {
  using Element = float;
  using Lanes = Floats;
  static __m512 read(const std::byte* from) { return _mm512_loadu_ps(from); }
  static void write(std::byte* to, __m512 v) { _mm512_storeu_ps(to, v); }
  static void stream(std::byte* to, __m512 v) { _mm512_stream_ps(reinterpret_cast<float*>(to), v); }
};

struct Float64 : Streaming {
  using Element = double;
  using Lanes = Doubles;
  static __m512d read(const std::byte* from) { return _mm512_loadu_pd(from); }
  static void write(std::byte* to, __m512d v) { _mm512_storeu_pd(to, v); }
  static void stream(std::byte* to, __m512d v) {
    _mm512_stream_pd(reinterpret_cast<double*>(to), v);
  }
};

// The conversions and shifts below are the zero-masking ones under a mask of all lanes, which
// compile to the plain ones: GCC 12 takes the plain ones for uses of an uninitialised variable.
constexpr __mmask16 all = 0xffff;

__m256i load_halves(const std::byte* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
void store_halves(std::byte* to, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
}
void stream_halves(std::byte* to, __m256i v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v);
}

struct Bfloat16 : Streaming {
  using Element = bfloat16;
  using Lanes = Floats;
  static __m512 read(const std::byte* from) {
    return _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, load_halves(from)), 16));
  }
  static void write(std::byte* to, __m512 v) { store_halves(to, narrow(v)); }
  static void stream(std::byte* to, __m512 v) { stream_halves(to, narrow(v)); }

 private:
  static __m256i narrow(__m512 v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i upper = _mm512_maskz_srli_epi32(all, bits, 16);
    const __m512i odd = _mm512_and_epi32(upper, _mm512_set1_epi32(1));
    const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i number = _mm512_maskz_srli_epi32(all, _mm512_add_epi32(bits, bias), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i words = _mm512_mask_or_epi32(number, is_nan, upper, _mm512_set1_epi32(0x40));
    return _mm512_maskz_cvtepi32_epi16(all, words);
  }
};

struct Float16 : Streaming {
  using Element = float16;
  using Lanes = Floats;
  static __m512 read(const std::byte* from) {
    return _mm512_maskz_cvtph_ps(all, load_halves(from));
  }
  static void write(std::byte* to, __m512 v) { store_halves(to, narrow(v)); }
  static void stream(std::byte* to, __m512 v) { stream_halves(to, narrow(v)); }

 private:
  static __m256i narrow(__m512 v) {
    return _mm512_maskz_cvtps_ph(all, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

struct Avx512 {
  using Float32 = detail::Float32;
  using Float64 = detail::Float64;
  using Bfloat16 = detail::Bfloat16;
  using Float16 = detail::Float16;
};

}  // namespace

void sum_avx512(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                void* out, Store store) {
  sum_in<Avx512>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail

SYNCOPATE_TARGET_END

#endif
