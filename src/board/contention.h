// Whether others need the cores of this process. Other processes may, of which nothing tells: then
// a yield gives a core away for a whole slice of theirs, and a sleep, whose end takes the core
// back, is shorter. But a long yield may also be a virtual machine that stood still, or one of many
// that were brief. So one is believed for a short time, and for longer and longer only where long
// ones take more time than all the brief ones between them.
//
// All threads of a process tell the same one; what they lose to each other hardly matters.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace syncopate::board {

class ContentionDetector {
 public:
  using Time = std::int64_t;

  /// A yield that ended at `now`.
  void note_yield(Time took, Time now) {
    if (took < kSlice) {
      brief_.store(brief_.load(std::memory_order_relaxed) + took, std::memory_order_relaxed);
      return;
    }
    // What stops several threads at once stops them once.
    if (now - took < ended_.exchange(now, std::memory_order_relaxed)) return;
    const bool again = brief_.exchange(0, std::memory_order_relaxed) < took;
    const Time before = belief_.load(std::memory_order_relaxed);
    const Time belief = again ? std::min(2 * before, kLongest) : kShortest;
    belief_.store(belief, std::memory_order_relaxed);
    until_.store(now + belief, std::memory_order_relaxed);
  }

  bool crowded(Time now) const { return now < until_.load(std::memory_order_relaxed); }

 private:
  static constexpr Time kMillisecond = 1'000'000;
  /// Slices end with a tick of the kernel, which comes once a millisecond or more seldom.
  static constexpr Time kSlice = kMillisecond * 9 / 10;
  static constexpr Time kShortest = 2 * kMillisecond;
  static constexpr Time kLongest = 1'000 * kMillisecond;

  // Relaxed, all of them: they are hints and order nothing.
  std::atomic<Time> brief_ = kLongest;  ///< What brief ones have taken since the last long one.
  std::atomic<Time> belief_ = kShortest;
  std::atomic<Time> until_ = 0;
  std::atomic<Time> ended_ = 0;  ///< The last long one.
};

}  // namespace syncopate::board
