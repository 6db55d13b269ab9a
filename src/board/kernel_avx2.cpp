// The kernel in 32-byte vectors, with the processor's own conversions of float16.
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

SYNCOPATE_TARGET_BEGIN("avx2,f16c")

#include "board/kernel_loops.h"

namespace syncopate::board::detail {
namespace {

struct Floats {
  using Value = float;
  using Vector = __m256;
  static constexpr std::size_t width = 8;
  static Vector load(const Value* from) { return _mm256_loadu_ps(from); }
  static void store(Value* to, Vector v) { _mm256_storeu_ps(to, v); }
  static Vector broadcast(Value v) { return _mm256_set1_ps(v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector multiply(Vector a, Vector b) { return rounded(_mm256_mul_ps(a, b)); }
};

struct Doubles {
  using Value = double;
  using Vector = __m256d;
  static constexpr std::size_t width = 4;
  static Vector load(const Value* from) { return _mm256_loadu_pd(from); }
  static void store(Value* to, Vector v) { _mm256_storeu_pd(to, v); }
  static Vector broadcast(Value v) { return _mm256_set1_pd(v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static Vector multiply(Vector a, Vector b) { return rounded(_mm256_mul_pd(a, b)); }
};

struct Streaming {
  static constexpr bool streams = true;
  /// Streamed stores are not ordered with the flag that says they are done; this orders them.
  static void fence() { _mm_sfence(); }
};

struct Float32 : Streaming {
  using Element = float;
  using Lanes = Floats;
  static __m256 read(const std::byte* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static void write(std::byte* to, __m256 v) { _mm256_storeu_ps(reinterpret_cast<float*>(to), v); }
  static void stream(std::byte* to, __m256 v) { _mm256_stream_ps(reinterpret_cast<float*>(to), v); }
};

struct Float64 : Streaming {
  using Element = double;
  using Lanes = Doubles;
  static __m256d read(const std::byte* from) {
    return _mm256_loadu_pd(reinterpret_cast<const double*>(from));
  }
  static void write(std::byte* to, __m256d v) {
    _mm256_storeu_pd(reinterpret_cast<double*>(to), v);
  }
  static void stream(std::byte* to, __m256d v) {
    _mm256_stream_pd(reinterpret_cast<double*>(to), v);
  }
};

__m128i load_halves(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
void store_halves(std::byte* to, __m128i v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), v); }
void stream_halves(std::byte* to, __m128i v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(to), v);
}

struct Bfloat16 : Streaming {
  using Element = bfloat16;
  using Lanes = Floats;
  static __m256 read(const std::byte* from) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_halves(from)), 16));
  }
  static void write(std::byte* to, __m256 v) { store_halves(to, narrow(v)); }
  static void stream(std::byte* to, __m256 v) { stream_halves(to, narrow(v)); }

 private:
  static __m128i narrow(__m256 v) {
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
};

struct Float16 : Streaming {
  using Element = float16;
  using Lanes = Floats;
  static __m256 read(const std::byte* from) { return _mm256_cvtph_ps(load_halves(from)); }
  static void write(std::byte* to, __m256 v) { store_halves(to, narrow(v)); }
  static void stream(std::byte* to, __m256 v) { stream_halves(to, narrow(v)); }

 private:
  static __m128i narrow(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

struct Avx2 {
  using Float32 = detail::Float32;
  using Float64 = detail::Float64;
  using Bfloat16 = detail::Bfloat16;
  using Float16 = detail::Float16;
};

}  // namespace

void sum_avx2(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
              void* out, Store store) {
  sum_in<Avx2>(type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board::detail

SYNCOPATE_TARGET_END

#endif
