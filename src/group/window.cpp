#include "group/window.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace syncopate::group {

using board::step;
using board::Step;

bool Window::release_through(RoundNumber step_number) {
  step(Step::release);
  Shared<RoundNumber>& seen = memory_.ranks[participants_.me()].seen;
  SYNCOPATE_CHECK(seen.load_relaxed() <= step_number, "window.h 1: what was seen stays seen");
  seen.store(step_number);
  if (memory_.news->blocked.load() == 0) return false;
  memory_.news->blocked.store(0);
  event().signal(platform_);
  return true;
}

void Window::note_elsewhere(RoundNumber seen) {
  if (seen <= memory_.news->elsewhere.load()) return;
  memory_.news->elsewhere.store(seen);
  event().signal(platform_);
}

RoundNumber Window::look_at_all() {
  constexpr RoundNumber kNone = std::numeric_limits<RoundNumber>::max();
  RoundNumber minimum = kNone;
  for (int rank = 0; rank < shape_.ranks; ++rank) {
    if (participants_.counts(rank)) minimum = std::min(minimum, participants_.seen(rank));
  }
  if (minimum == kNone) return slowest_;
  if (shape_.across()) minimum = std::min(minimum, memory_.news->elsewhere.load());
  slowest_ = std::max(slowest_, minimum);
  return slowest_;
}

bool Window::allows(RoundNumber step_number) {
  const auto window = static_cast<RoundNumber>(shape_.window);
  return slowest_ + window >= step_number || look_at_all() + window >= step_number;
}

}  // namespace syncopate::group
