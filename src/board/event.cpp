#include "board/event.h"

#include <sched.h>

#include <algorithm>

namespace syncopate::board {
namespace {

/// Looks between two glances at the clock: reading it costs as much as a few looks.
constexpr int kLooksPerGlance = 16;
constexpr int kSmallestShareOfSpin = 16;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Lookout::Lookout(Host& host, bool oversubscribed)
    : host_(host), eagerness_(host.eagerness(oversubscribed)), spin_(eagerness_.spin) {}

void Lookout::wait(Event& event, std::uint64_t seen, Time until) {
  if (spin_.count() > 0 && spin(event, seen, until)) {
    spin_ = std::min(spin_ * 2, eagerness_.spin);
    return;
  }
  spin_ = std::max(spin_ / 2, eagerness_.spin / kSmallestShareOfSpin);
  if (yield(event, seen, eagerness_.yields)) return;
  event.sleep(host_, seen, until);
}

bool Lookout::spin(const Event& event, std::uint64_t seen, Time until) {
  const Time end = std::min(until, host_.now() + spin_.count());
  do {
    for (int look = 0; look < kLooksPerGlance; ++look) {
      if (event.read() != seen) return true;
      relax();
    }
  } while (host_.now() < end);
  return false;
}

bool Lookout::yield(const Event& event, std::uint64_t seen, int times) {
  for (int i = 0; i < times; ++i) {
    sched_yield();
    if (event.read() != seen) return true;
  }
  return false;
}

}  // namespace syncopate::board
