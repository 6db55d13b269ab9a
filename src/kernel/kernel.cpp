#include "kernel/kernel.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernel/dispatch.h"

#if SYNCOPATE_KERNEL_X86
#include <cpuid.h>
#include <xmmintrin.h>
#endif

namespace syncopate::board {
namespace detail {
namespace {

// Asked at run time through a function pointer and not through an ifunc: an ifunc is resolved
// before the sanitizers' run-time is ready.
std::vector<Level> detect() {
  std::vector<Level> levels{Level::portable};
#if SYNCOPATE_KERNEL_X86
  // F16C came to the same processors a year before AVX2, but nothing says that it must be there,
  // and not every compiler's __builtin_cpu_supports knows its name.
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && f16c) levels.push_back(Level::avx2);
  if (__builtin_cpu_supports("avx512f")) levels.push_back(Level::avx512);
#endif
  return levels;
}

Sum sum_of([[maybe_unused]] Level level) {
#if SYNCOPATE_KERNEL_X86
  if (level == Level::avx512) return sum_avx512;
  if (level == Level::avx2) return sum_avx2;
#endif
  return sum_portable;
}

bool is_one(DataType type, double factor) {
  return type == DataType::float64 ? factor == 1 : static_cast<float>(factor) == 1;
}

/// Arithmetic as it comes while this lives. A program may have told its own thread to take small
/// numbers for zero or to round otherwise; whose thread adds up must not show in the sum.
class PlainArithmetic {
 public:
  PlainArithmetic(const PlainArithmetic&) = delete;
  PlainArithmetic& operator=(const PlainArithmetic&) = delete;
#if SYNCOPATE_KERNEL_X86
  PlainArithmetic() : before_(_mm_getcsr()) {
    if ((before_ & ~_MM_EXCEPT_MASK) != kPlain) _mm_setcsr(kPlain);
  }
  ~PlainArithmetic() {
    if ((before_ & ~_MM_EXCEPT_MASK) != kPlain) _mm_setcsr(before_);
  }

 private:
  static constexpr unsigned kPlain = 0x1F80;  ///< What the processor starts with.
  unsigned before_;
#elif defined(__aarch64__)
  PlainArithmetic() : before_(__builtin_aarch64_get_fpcr()) {
    if (before_ != 0) __builtin_aarch64_set_fpcr(0);
  }
  ~PlainArithmetic() {
    if (before_ != 0) __builtin_aarch64_set_fpcr(before_);
  }

 private:
  unsigned before_;
#else
  PlainArithmetic() = default;
  ~PlainArithmetic() = default;
#endif
};

void weighted_sum_with(Sum sum, DataType type, std::size_t elements, std::span<const Term> terms,
                       double scale, void* out, Store store) {
  if (elements == 0) return;
  // All four formats write zero as zero bits.
  if (terms.empty()) {
    std::memset(out, 0, elements * size_of(type));
    return;
  }
  if (terms.size() == 1 && is_one(type, terms[0].weight) && is_one(type, scale)) {
    if (out != terms[0].values) std::memcpy(out, terms[0].values, elements * size_of(type));
    return;
  }
  const PlainArithmetic plain;
  sum(type, elements, terms, scale, out, store);
}

}  // namespace

const char* to_string(Level level) {
  switch (level) {
    case Level::portable:
      return "portable";
    case Level::avx2:
      return "avx2";
    case Level::avx512:
      return "avx512";
  }
  return "unknown level";
}

std::span<const Level> supported_levels() {
  static const std::vector<Level> levels = detect();
  return levels;
}

void weighted_sum_at(Level level, DataType type, std::size_t elements, std::span<const Term> terms,
                     double scale, void* out, Store store) {
  weighted_sum_with(sum_of(level), type, elements, terms, scale, out, store);
}

}  // namespace detail

void weighted_sum(DataType type, std::size_t elements, std::span<const Term> terms, double scale,
                  void* out, Store store) {
  static const detail::Sum best = detail::sum_of(detail::supported_levels().back());
  detail::weighted_sum_with(best, type, elements, terms, scale, out, store);
}

}  // namespace syncopate::board
