#include "train/pace.h"

#include <algorithm>
#include <ctime>

#include "base/durations.h"

namespace syncopate::train {
namespace {

/// A signal ends the sleep of the thread that handles it. When that is another thread, or when
/// it came just before the sleep, the flag is seen after this long.
constexpr Duration kSlice = std::chrono::milliseconds(10);

}  // namespace

Clock::Time SteadyClock::now() { return std::chrono::steady_clock::now(); }

void SteadyClock::sleep_until(Time time) {
  const Duration since_boot = time.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  const timespec until{.tv_sec = seconds.count(), .tv_nsec = (since_boot - seconds).count()};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

Pacer::Pacer(Clock& clock, const std::atomic<bool>& stop)
    : clock_(clock), stop_(stop), begun_(clock.now()) {}

void Pacer::begin() { begun_ = clock_.now(); }

void Pacer::finish_part(int part, int parts, Duration due) {
  const Clock::Time end = begun_ + base::share(due, part, parts);
  // Relaxed, because nothing else is read on the strength of the flag.
  while (!stop_.load(std::memory_order_relaxed)) {
    const Clock::Time now = clock_.now();
    if (now >= end) return;
    clock_.sleep_until(std::min(end, now + kSlice));
  }
}

}  // namespace syncopate::train
