// The kernel in 64-byte vectors: whole cache lines. Only the foundation (AVX-512 F) is used; the
// bfloat16 instructions are not, because they flush subnormal numbers to zero.
#include "kernel/dispatch.h"

#if SYNCOPATE_KERNEL_X86

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/float16.h"
#include "kernel/target.h"

SYNCOPATE_TARGET_BEGIN("avx512f")

#include "kernel/formats.h"
#include "kernel/loops.h"

namespace syncopate::board::detail {
namespace {

// The conversions and shifts below are the zero-masking ones under a mask of all lanes, which
// compile to the plain ones: GCC 12 takes the plain ones for uses of an uninitialized variable.
constexpr __mmask16 all = 0xffff;

struct Avx512 {
  using Floats = float __attribute__((vector_size(64)));
  using Doubles = double __attribute__((vector_size(64)));
  using Halves = __m256i;

  static constexpr bool streams = true;
  static void stream(std::byte* to, Floats v) { _mm512_stream_ps(reinterpret_cast<float*>(to), v); }
  static void stream(std::byte* to, Doubles v) {
    _mm512_stream_pd(reinterpret_cast<double*>(to), v);
  }
  static void stream(std::byte* to, Halves v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), v);
  }
  static void fence() { _mm_sfence(); }

  static Floats widen(bfloat16, Halves v) {
    return _mm512_castsi512_ps(
        _mm512_maskz_slli_epi32(all, _mm512_maskz_cvtepu16_epi32(all, v), 16));
  }
  static Halves narrow(bfloat16, Floats v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i upper = _mm512_maskz_srli_epi32(all, bits, 16);
    const __m512i odd = _mm512_and_epi32(upper, _mm512_set1_epi32(1));
    const __m512i bias = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    const __m512i number = _mm512_maskz_srli_epi32(all, _mm512_add_epi32(bits, bias), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i words = _mm512_mask_or_epi32(number, is_nan, upper, _mm512_set1_epi32(0x40));
    return _mm512_maskz_cvtepi32_epi16(all, words);
  }

  static Floats widen(float16, Halves v) { return _mm512_maskz_cvtph_ps(all, v); }
  static Halves narrow(float16, Floats v) {
    return _mm512_maskz_cvtps_ph(all, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

}  // namespace

void sum_avx512(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                void* out, Store store) {
  sum_in<Formats<Avx512>>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail

SYNCOPATE_TARGET_END

#endif
