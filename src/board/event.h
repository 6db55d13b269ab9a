// Something that ranks wait for: a counter that changes when there is news. Its lowest bit says
// that somebody sleeps, so that nobody is woken who did not ask and nothing is paid when all
// are awake. A rank that dies while it sleeps leaves no trace: the bit goes with the next news.
#pragma once

#include <climits>
#include <cstdint>

#include "board/host.h"
#include "board/shared.h"

namespace syncopate::board {

class Event {
 public:
  /// To be read before looking at the state that the event is about.
  std::uint32_t read() const { return word_.load() & ~kAsleep; }

  /// To be called after the state has changed. Wakes up to `count` sleepers.
  void signal(Host& host, int count = INT_MAX) {
    step(Step::wake);
    std::uint32_t word = word_.load();
    // Sleepers that are not woken now must still be woken by the next news.
    const std::uint32_t kept = count == INT_MAX ? 0 : kAsleep;
    while (!word_.replace(word, ((word & ~kAsleep) + kStride) | (word & kept))) {
    }
    if ((word & kAsleep) != 0) host.wake(word_, count);
  }

  /// Sleeps until there is news after `seen`, or until `until`. May return early.
  void sleep(Host& host, std::uint32_t seen, Time until) {
    std::uint32_t word = word_.load();
    while ((word & ~kAsleep) == seen) {
      if ((word & kAsleep) != 0 || word_.replace(word, word | kAsleep)) {
        host.park(word_, seen | kAsleep, until);
        return;
      }
    }
  }

 private:
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kStride = 2;
  Shared<std::uint32_t> word_;
};

/// Looks for news for a short while before it sleeps, and learns whether looking pays.
class Lookout {
 public:
  Lookout(Host& host, bool oversubscribed);

  /// Returns when there is news after `seen`, or at `until`. May return early.
  void wait(Event& event, std::uint32_t seen, Time until);

 private:
  bool spin(const Event& event, std::uint32_t seen, Time until);
  static bool yield(const Event& event, std::uint32_t seen, int times);

  Host& host_;
  Eagerness eagerness_;
  Duration spin_;  ///< Halved when looking was in vain, doubled when it paid.
};

}  // namespace syncopate::board
