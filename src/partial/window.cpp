#include "partial/window.h"

#include "base/check.h"

namespace syncopate::partial {

using board::step;
using board::Step;

void Window::release_through(RoundNumber round) {
  RankState& mine = memory_.ranks[participants_.me()];
  if (round <= mine.seen.load_relaxed()) return;
  SYNCOPATE_CHECK(board::unstepped([&] { return round <= readable(); }),
                  "window.h 1: only what is published is released");
  step(Step::release);
  mine.seen.store(round);
  unblock();
}

void Window::release_through_and_wait(RoundNumber round, RoundNumber next) {
  RankState& mine = memory_.ranks[participants_.me()];
  const bool releases = round > mine.seen.load_relaxed();
  if (releases) {
    SYNCOPATE_CHECK(board::unstepped([&] { return round <= readable(); }),
                    "window.h 1: only what is published is released");
    step(Step::release);
    mine.seen.store_release(round);
  }
  // Processors let nothing that is read after it overtake this store, nor those before it.
  mine.waiting.store(next);
  if (releases) unblock();
}

void Window::unblock() {
  News& news = *memory_.news;
  if (news.blocked.load() == 0) return;
  news.blocked.store(0);
  notifier_.tell();
}

RoundNumber Window::look_at_all() {
  RoundNumber minimum = readable();
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (participants_.follows(rank)) minimum = std::min(minimum, participants_.seen(rank));
  }
  slowest_ = std::max(slowest_, minimum);
  // A rank that trusts the bound writes over results: it must come after the last look at them.
  memory_.control->slowest.store_release(slowest_);
  return slowest_;
}

bool Window::allows(RoundNumber round) {
  const auto window = static_cast<RoundNumber>(shape_.window);
  // Reading every rank's state takes long; what another rank has found is good for a while.
  slowest_ = std::max(slowest_, memory_.control->slowest.load());
  return slowest_ + window >= round || look_at_all() + window >= round;
}

bool Window::holds(RoundNumber round) const {
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (participants_.holds_up(rank, round)) return false;
  }
  return true;
}

}  // namespace syncopate::partial
