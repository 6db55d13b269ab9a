// Something that ranks wait for: a word that changes when there is news. It holds a number that the
// news is about (the last published round), a counter for other news, and a bit that says that a
// rank sleeps. So no rank is woken that did not ask, and nothing is paid when all are awake.
//
// Invariants (tests: tests/board/event_test.cpp)
// 1. The number never goes back. It has 52 bits.
//      check: announce, begin_with                        test: ANumberThatIsThereIsNoNews
// 2. A rank that sleeps has set the bit while the word was what it had read. Any change of the word
//    clears the bit and wakes those who sleep, or keeps the bit for those who are not woken.
//      check: sleep (what was read)                       test: the suite
// 3. A rank that dies while it sleeps leaves no trace: the bit goes with the next news.
//      test: tests/fault/strike_test.cpp
#pragma once

#include <bit>
#include <climits>
#include <cstdint>

#include "base/check.h"
#include "board/platform.h"
#include "board/shared.h"

namespace syncopate::board {

/// A word that changes without an announcement, which a rank that waits for an event watches, too.
struct Watched {
  const Shared<std::uint64_t>* word = nullptr;
  std::uint64_t seen = 0;

  bool changed() const { return word != nullptr && word->load() != seen; }
};

class Event {
 public:
  /// To be read before looking at the state that the event is about.
  std::uint64_t read() const { return word_.load() & ~kAsleep; }

  std::uint64_t number() const { return number_in(word_.load()); }
  static std::uint64_t number_in(std::uint64_t reading) { return reading >> kNumberShift; }
  /// Before anybody uses the event.
  void begin_with(std::uint64_t number) { word_.store_relaxed(number << kNumberShift); }

  /// Raises the number to `number`, unless it is there already, and wakes all that sleep.
  void announce(Platform& platform, std::uint64_t number) {
    SYNCOPATE_CHECK(number_in(number << kNumberShift) == number, "event.h 1: 52 bits hold it");
    std::uint64_t word = word_.load();
    while (number_in(word) < number) {
      if (!word_.replace(word, number << kNumberShift)) continue;
      step(Step::wake);
      if ((word & kAsleep) != 0) platform.wake(futex(), INT_MAX);
      return;
    }
  }

  /// News of another kind, after the state has changed. Wakes up to `count` sleepers.
  void signal(Platform& platform, int count = INT_MAX) {
    step(Step::wake);
    std::uint64_t word = word_.load();
    // Sleepers that are not woken now must still be woken by the next news.
    const std::uint64_t kept = count == INT_MAX ? 0 : kAsleep;
    for (;;) {
      const std::uint64_t counter = ((word & kCounter) + kAsleep + 1) & kCounter;
      const std::uint64_t next = (word & ~(kCounter | kAsleep)) | counter | (word & kept);
      if (word_.replace(word, next)) break;
    }
    if ((word & kAsleep) != 0) platform.wake(futex(), count);
  }

  /// After a change of a word that others watch: tells those who sleep.
  void rouse(Platform& platform) {
    if ((word_.load() & kAsleep) != 0) signal(platform);
  }

  /// The same where only one ever sleeps: wakes it, and there is no news. (Of several, one could
  /// set the bit again before another, who set it before, sleeps.)
  void nudge(Platform& platform) {
    std::uint64_t word = word_.load();
    while ((word & kAsleep) != 0) {
      if (!word_.replace(word, word & ~kAsleep)) continue;
      step(Step::wake);
      return platform.wake(futex(), 1);
    }
  }

  /// Sleeps until there is news after `seen`, or until `until`. May return early.
  void sleep(Platform& platform, std::uint64_t seen, Time until, const Watched& watched = {}) {
    SYNCOPATE_CHECK((seen & kAsleep) == 0, "event.h 2: what was read has no bit of sleepers");
    std::uint64_t word = word_.load();
    while ((word & ~kAsleep) == seen) {
      if ((word & kAsleep) != 0 || word_.replace(word, word | kAsleep)) {
        // Looked at after the bit is set: a writer that changes the word from here on sees the bit.
        if (watched.changed()) return;
        platform.park(futex(), static_cast<std::uint32_t>(seen | kAsleep), until);
        return;
      }
    }
  }

 private:
  static constexpr std::uint64_t kAsleep = 1;
  static constexpr int kNumberShift = 12;
  static constexpr std::uint64_t kCounter = (std::uint64_t{1} << kNumberShift) - 2;

  /// The kernel compares 32 bits: those with the bit, the counter and the end of the number.
  Shared<std::uint32_t>& futex() {
    static_assert(std::endian::native == std::endian::little);
    return *static_cast<Shared<std::uint32_t>*>(word_.address());
  }

  Shared<std::uint64_t> word_;
};

class CoreSharing;

/// Looks for news for a short while before it sleeps, and learns whether looking pays.
class Lookout {
 public:
  /// `sharing` is for ranks that have a core each; without it the core is offered to others.
  Lookout(Platform& platform, bool oversubscribed, CoreSharing* sharing = nullptr);

  /// Returns when there is news after `seen`, or at `until`. May return early. Returns the time
  /// of its last glance at the clock, less than a microsecond ago.
  Time wait(Event& event, std::uint64_t seen, Time until, const Watched& watched = {});

 private:
  struct Looked {
    bool news;
    Time at;
  };
  Looked look(const Event& event, std::uint64_t seen, const Watched& watched, Time began, Time end);
  /// For those who may be waited for, after a few looks at `now`, which becomes the time after it.
  /// Returns whether to go on looking.
  bool make_room(Time& now);

  Platform& platform_;
  CoreSharing* sharing_;
  Eagerness eagerness_;
  Duration patience_;  ///< How long to look; shorter while waits are long anyway.
};

}  // namespace syncopate::board
