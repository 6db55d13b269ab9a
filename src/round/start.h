// Whether a round may start: the one rule, applied by a rank to what its board says and by the
// agreements to what machines tell each other. In this order:
//   1. the trigger holds;
//   2. every rank has seen the round `window` before it;
//   3. all have come, or the grace is over, which counts from when the trigger was first seen to
//      hold;
//   4. a rank waits for it.
// The rule is pure: how each of these is known, and noted, is the caller's business.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "round/time.h"
#include "syncopate/policy.h"

namespace syncopate::round {

/// What the rule asks, and at most once each, in the order of the rule.
template <typename T>
concept StartQuestions = requires(T& asked, Time now) {
  { asked.trigger_holds() } -> std::same_as<bool>;
  { asked.in_window() } -> std::same_as<bool>;
  { asked.all_here() } -> std::same_as<bool>;
  { asked.grace() } -> std::same_as<Duration>;
  /// When the trigger was first seen to hold: `now`, if it was not before.
  { asked.open_since(now) } -> std::same_as<Time>;
  { asked.is_awaited() } -> std::same_as<bool>;
};

struct Outlook {
  enum class Start : std::uint8_t {
    not_yet,  // the trigger does not hold, or no rank waits for the round
    blocked,  // a rank lags behind by more than the window
    later,    // the grace lasts until `again_at`
    now,
  };
  Start start = Start::not_yet;
  Time again_at = kNever;  ///< When to ask again even without news.
};

template <StartQuestions Questions>
Outlook outlook(Questions& asked, Time now) {
  if (!asked.trigger_holds()) return {};
  if (!asked.in_window()) return {.start = Outlook::Start::blocked};
  Outlook result{.start = Outlook::Start::now};
  if (!asked.all_here()) {
    if (const Duration grace = asked.grace(); grace.count() > 0) {
      // Noted even where no rank waits yet: grace counts from the trigger.
      const Time end = asked.open_since(now) + grace.count();
      if (now < end) result = {.start = Outlook::Start::later, .again_at = end};
    }
  }
  if (!asked.is_awaited()) return {};
  return result;
}

/// How long a round stays open, where `typical_step()` tells how long a step takes.
template <typename TypicalStep>
Duration grace_time(const Grace& grace, const TypicalStep& typical_step) {
  if (grace.share <= 0) return grace.fixed;
  return Duration(std::llround(double(typical_step().count()) * grace.share));
}

}  // namespace syncopate::round
