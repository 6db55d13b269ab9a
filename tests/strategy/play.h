// Ranks as threads that act in a written order. A turn is a set of ranks that take one step at the
// same time; the next turn begins when all of them are back.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/ranks.h"
#include "support/training.h"

namespace syncopate::testing {

using Turn = std::vector<int>;
using Script = std::vector<Turn>;

class Play {
 public:
  explicit Play(Script script) : script_(std::move(script)) {}

  /// Calls `act` at each turn of this rank, and returns when the script is over.
  void take_part(int rank, const std::function<void()>& act) {
    int before = 0;
    for (const Turn& turn : script_) {
      if (std::find(turn.begin(), turn.end(), rank) != turn.end()) {
        await(before);
        try {
          act();
        } catch (...) {
          advance(0);
          throw;
        }
        advance(1);
      }
      before += int(turn.size());
    }
    await(before);
  }

 private:
  /// Returns when so many steps of all ranks are done.
  void await(int steps) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= steps || broken_; });
    if (broken_) throw std::runtime_error("another rank failed");
  }

  void advance(int steps) {
    const std::lock_guard lock(mutex_);
    done_ += steps;
    broken_ = broken_ || steps == 0;
    changed_.notify_all();
  }

  Script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
  bool broken_ = false;
};

/// Computes for a while, and now and then lets others go first. On a busy machine those may be
/// other programs, and then it takes long: so not often.
inline void dawdle(int units, unsigned random) {
  volatile unsigned work = random;
  for (int i = 0; i < units * 1000; ++i) work = work * 48271U + 1;
  if (random % 32 == 0) be_away(1);
}

/// Ranks as threads; a test that hangs ends with an error that says who waited for whom.
inline void with_ranks(int ranks, const std::function<void(World&)>& body) {
  on_threads(ranks, [&](World& world) {
    world.set_timeout(std::chrono::seconds(30));
    body(world);
  });
}

}  // namespace syncopate::testing
