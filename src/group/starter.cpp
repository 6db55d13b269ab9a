#include "group/starter.h"

#include <algorithm>
#include <cmath>

namespace syncopate::group {

using namespace std::chrono_literals;

bool Starter::window_allows(RoundNumber step) {
  if (board_.window.allows(step)) return true;
  // Said before the second look: a rank that catches up from here on wakes those who wait.
  board_.window.set_blocked();
  return board_.window.allows(step);
}

Duration Starter::grace() const {
  if (grace_.share <= 0) return grace_.fixed;
  const Duration typical = board_.participants.step_time(board_.participants.me());
  return Duration(std::llround(double(typical.count()) * grace_.share));
}

Starter::Outlook Starter::look(const OwnGroup& group, Time now) {
  if (!window_allows(group.step)) return {.blocked = true};
  const bool all_here = std::none_of(group.members.begin(), group.members.end(),
                                     [&](int rank) { return is_missing(group, rank); });
  if (all_here) return {.start = true};
  if (group.everyone || trigger_.kind == Trigger::Kind::all) return {};
  if (const Duration open = grace(); open > 0ns) {
    const Time end = board_.rounds.open_since(group.here(), now) + open.count();
    if (now < end) return {.again_at = end};
  }
  return {.start = true};
}

}  // namespace syncopate::group
