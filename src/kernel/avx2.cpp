// The kernel in 32-byte vectors, with the processor's own conversions of float16.
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

SYNCOPATE_TARGET_BEGIN("avx2,f16c")

#include "kernel/formats.h"
#include "kernel/loops.h"

namespace syncopate::board::detail {
namespace {

struct Avx2 {
  using Floats = float __attribute__((vector_size(32)));
  using Doubles = double __attribute__((vector_size(32)));
  using Halves = __m128i;

  static constexpr bool streams = true;
  static void stream(std::byte* to, Floats v) { _mm256_stream_ps(reinterpret_cast<float*>(to), v); }
  static void stream(std::byte* to, Doubles v) {
    _mm256_stream_pd(reinterpret_cast<double*>(to), v);
  }
  static void stream(std::byte* to, Halves v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), v);
  }
  static void fence() { _mm_sfence(); }

  static Floats widen(bfloat16, Halves v) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
  }
  static Halves narrow(bfloat16, Floats v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i upper = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i bias = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    const __m256i number = _mm256_srli_epi32(_mm256_add_epi32(bits, bias), 16);
    const __m256i quiet_nan = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(number, quiet_nan, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  }

  static Floats widen(float16, Halves v) { return _mm256_cvtph_ps(v); }
  static Halves narrow(float16, Floats v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

}  // namespace

void sum_avx2(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
              void* out, Store store) {
  sum_in<Formats<Avx2>>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail

SYNCOPATE_TARGET_END

#endif
