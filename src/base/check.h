// SYNCOPATE_CHECK(condition, invariant): aborts, with file, line, condition and invariant, if the
// condition does not hold. On in builds with steps (SYNCOPATE_STEPPED), in debug builds and under
// sanitizers. In others the condition is compiled and never evaluated.
//
// Checks guard the numbered invariants at the top of the headers of the protocol, and name them
// ("deposits.h 2"). A failed check is a mistake of this library, so that it prints and aborts,
// which the library does nowhere else: what goes on after it would corrupt what the other ranks
// read.
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SYNCOPATE_CLANG_SANITIZES
#endif
#endif

#if defined(SYNCOPATE_STEPPED) || !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__) || defined(SYNCOPATE_CLANG_SANITIZES)
#define SYNCOPATE_CHECK(condition, invariant) \
  ((condition) ? static_cast<void>(0)         \
               : ::syncopate::check_failed(__FILE__, __LINE__, #condition, invariant))
#define SYNCOPATE_CHECKS true
#else
#define SYNCOPATE_CHECK(condition, invariant) \
  static_cast<void>(false && static_cast<bool>(condition))
#define SYNCOPATE_CHECKS false
#endif

namespace syncopate {

/// Whether checks are on.
inline constexpr bool kChecks = SYNCOPATE_CHECKS;

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition,
                                      const char* invariant) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, condition, invariant);
  std::abort();
}

}  // namespace syncopate
