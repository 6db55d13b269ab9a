// Loaded into a program before all else: its wall clock is SYNCOPATE_TEST_WALL_CLOCK seconds ahead.
#include <dlfcn.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  const char* ahead = std::getenv("SYNCOPATE_TEST_WALL_CLOCK");
  if (result == 0 && clock == CLOCK_REALTIME && ahead != nullptr) time->tv_sec += std::atol(ahead);
  return result;
}
