#include "agent/heartbeat.h"

#include <algorithm>

namespace syncopate::detail {
namespace {

using board::Time;

constexpr Time kAskEvery = 1'000'000'000;
constexpr int kAsksWithinTimeout = 8;
/// A machine is given up before the ranks' own waits time out, but not so soon that a busy one
/// cannot answer.
constexpr int kAsksBeforeTimeout = 3;
constexpr Time kSilenceAllowed = 2'000'000'000;

Time ask_every(Time timeout) { return std::min(kAskEvery, timeout / kAsksWithinTimeout); }

}  // namespace

Heartbeat::Ask Heartbeat::ask(Time now, Time urgent_since, Time timeout) {
  const Time every = ask_every(timeout);
  if (urgent_since == board::kNever || now < urgent_since + every) return Ask::no;
  if (now < asked_at_ + every) return Ask::no;
  const bool first = !asked_since(urgent_since);
  asked_at_ = now;
  return first ? Ask::first : Ask::again;
}

bool Heartbeat::overdue(Time silent_for, Time timeout) {
  return silent_for >= 2 * ask_every(timeout);
}

bool Heartbeat::lost(Time silent_for, Time timeout) {
  return silent_for >= std::max(kSilenceAllowed, timeout - kAsksBeforeTimeout * ask_every(timeout));
}

}  // namespace syncopate::detail
