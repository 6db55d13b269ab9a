#include "board/event.h"

#include <algorithm>

#include "board/core_sharing.h"

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

Lookout::Lookout(Platform& platform, bool oversubscribed, CoreSharing* sharing)
    : platform_(platform),
      sharing_(oversubscribed ? nullptr : sharing),
      eagerness_(platform.eagerness(oversubscribed)),
      patience_(eagerness_.look) {}

Time Lookout::wait(Event& event, std::uint64_t seen, Time until, const Watched& watched) {
  const Time began = platform_.now();
  const Looked looked =
      look(event, seen, watched, began, std::min(until, began + patience_.count()));
  if (looked.news) return looked.at;
  event.sleep(platform_, seen, until, watched);
  const Time now = platform_.now();
  // Would a longer look have spared the sleep? Sleeping and waking alone take a while.
  const bool brief = now - began < 2 * eagerness_.look.count();
  patience_ = brief ? eagerness_.look : std::max(patience_ / 2, eagerness_.look / kSmallestShare);
  return now;
}

bool Lookout::make_room(Time& now) {
  if (sharing_ != nullptr) {
    // On a core of its own a rank gains nothing by a yield, and would lose a slice of time to a
    // stranger's process that is there as well.
    const Time then = sharing_->resolve(now);
    now = then == now ? platform_.now() : then;
    return true;
  }
  // Whom we wait for may be on this very core.
  if (platform_.crowded(now)) return false;
  now = platform_.yield(now);
  return true;
}

Lookout::Looked Lookout::look(const Event& event, std::uint64_t seen, const Watched& watched,
                              Time began, Time end) {
  Time now = began;
  while (now < end) {
    const bool alone = now - began < eagerness_.alone.count();
    const bool spins = alone || sharing_ != nullptr;
    for (int turn = 0; turn < (spins ? kLooksPerGlance : 1); ++turn) {
      if (event.read() != seen || watched.changed()) return {.news = true, .at = now};
      relax();
    }
    if (alone) {
      now = platform_.now();
    } else if (!make_room(now)) {
      break;
    }
  }
  return {.news = false, .at = now};
}

}  // namespace syncopate::board
