#include "board/event.h"

#include <sched.h>

#include <algorithm>

namespace syncopate::board {
namespace {

/// Looks between two glances at the clock: reading it costs as much as a few looks.
constexpr int kLooksPerGlance = 16;
constexpr int kSmallestShare = 16;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

Lookout::Lookout(Host& host, bool oversubscribed)
    : host_(host), eagerness_(host.eagerness(oversubscribed)), patience_(eagerness_.look) {}

void Lookout::wait(Event& event, std::uint64_t seen, Time until) {
  const Time began = host_.now();
  if (look(event, seen, began, std::min(until, began + patience_.count()))) return;
  event.sleep(host_, seen, until);
  // Would a longer look have spared the sleep? Sleeping and waking alone take a while.
  const bool brief = host_.now() - began < 2 * eagerness_.look.count();
  patience_ = brief ? eagerness_.look : std::max(patience_ / 2, eagerness_.look / kSmallestShare);
}

bool Lookout::look(const Event& event, std::uint64_t seen, Time began, Time end) {
  for (Time now = began; now < end; now = host_.now()) {
    const bool alone = now - began < eagerness_.alone.count();
    for (int turn = 0; turn < (alone ? kLooksPerGlance : 1); ++turn) {
      if (event.read() != seen) return true;
      relax();
    }
    // Whom we wait for may be on this very core.
    if (!alone) sched_yield();
  }
  return false;
}

}  // namespace syncopate::board
