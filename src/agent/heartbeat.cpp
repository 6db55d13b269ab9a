#include "agent/heartbeat.h"

#include <algorithm>

namespace syncopate::agent {
namespace {

using board::Time;

constexpr Time kAskEvery = 1'000'000'000;
constexpr int kAsksWithinTimeout = 8;
/// A machine is given up before the ranks' own waits time out, but not so soon that a busy one
/// cannot answer.
constexpr int kAsksBeforeTimeout = 3;
constexpr Time kSilenceAllowed = 2'000'000'000;

/// How many of those that are watched are the ones that follow.
constexpr int kFollowing = 3;

Time ask_every(Time timeout) { return std::min(kAskEvery, timeout / kAsksWithinTimeout); }

}  // namespace

std::vector<int> Heartbeat::whom_to_watch(int machine, int machines,
                                          const std::vector<int>& awaited) {
  std::vector<int> watched;
  const auto watch = [&](int other) {
    const bool enough = static_cast<int>(watched.size()) == kMostWatched;
    if (other == machine || enough || std::ranges::find(watched, other) != watched.end()) return;
    watched.push_back(other);
  };
  const int following = machines - 1 <= kMostWatched ? machines - 1 : kFollowing;
  for (int distance = 1; distance <= following; ++distance) watch((machine + distance) % machines);
  // Each machine begins behind itself, so that all of them do not watch the same.
  const auto middle = std::ranges::upper_bound(awaited, machine);
  for (auto at = middle; at != awaited.end(); ++at) watch(*at);
  for (auto at = awaited.begin(); at != middle; ++at) watch(*at);
  std::ranges::sort(watched);
  return watched;
}

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

}  // namespace syncopate::agent
