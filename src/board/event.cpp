#include "board/event.h"

#include <sched.h>

#include <algorithm>

namespace syncopate::board {
namespace {

/// Looks between two glances at the clock: reading it costs as much as a few looks.
constexpr int kLooksPerGlance = 16;
constexpr int kSmallestShareOfSpin = 16;
/// How long to look without offering the core to others.
constexpr Time kAlone = 5'000;

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
  const Time began = host_.now();
  if (spin_.count() > 0 && spin(event, seen, began, std::min(until, began + spin_.count()))) return;
  if (yield(event, seen, eagerness_.yields)) return;
  event.sleep(host_, seen, until);
  // Would a longer look have spared the sleep? Sleeping and waking alone take a while.
  const bool brief = host_.now() - began < 2 * eagerness_.spin.count();
  spin_ = brief ? eagerness_.spin : std::max(spin_ / 2, eagerness_.spin / kSmallestShareOfSpin);
}

bool Lookout::spin(const Event& event, std::uint64_t seen, Time began, Time end) {
  for (Time now = began; now < end; now = host_.now()) {
    for (int look = 0; look < kLooksPerGlance; ++look) {
      if (event.read() != seen) return true;
      relax();
    }
    // Whom we wait for may be on this very core, if others keep the rest of them busy.
    if (now - began > kAlone) sched_yield();
  }
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
