// Asks for cache lines ahead of their use. A compare-and-swap holds back every later access, so
// lines that are first touched by one come in one after another; asked for before, they come
// together.
#pragma once

namespace syncopate::board {

inline void prefetch_to_read(const void* address) { __builtin_prefetch(address, 0); }

inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  // The compiler emits this only for newer processors; older ones ignore it.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace syncopate::board
