// SYNCOPATE_CHECK(condition): what must hold if the protocol is right. On in stepped, debug and
// sanitizer builds, where it prints the condition and ends the process; in others it is compiled
// and not evaluated.
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(__has_feature)
#define SYNCOPATE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SYNCOPATE_HAS_FEATURE(feature) 0
#endif

#if defined(SYNCOPATE_STEPPED) || !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__) || SYNCOPATE_HAS_FEATURE(address_sanitizer) ||        \
    SYNCOPATE_HAS_FEATURE(thread_sanitizer)
#define SYNCOPATE_CHECK(condition)                                                                 \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: SYNCOPATE_CHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
#else
#define SYNCOPATE_CHECK(condition) static_cast<void>(sizeof(!(condition)))
#endif
