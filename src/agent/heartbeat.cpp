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
/// Nothing was expected of machines that were not asked for so many times.
constexpr int kAsksMissed = 3;
/// How much further each machine that is watched is than the one before.
constexpr int kFurther = 4;

Time ask_every(Time timeout) { return std::min(kAskEvery, timeout / kAsksWithinTimeout); }
/// Questions of others come a little earlier or later than they were sent.
Time pass_on_every(Time timeout) { return ask_every(timeout) / 4 * 3; }

}  // namespace

std::vector<int> Heartbeat::whom_to_watch(int machine, int machines) {
  const bool few = machines - 1 <= kMostWatched;
  std::vector<int> watched;
  for (int distance = 1; distance < machines; distance = few ? distance + 1 : distance * kFurther) {
    watched.push_back((machine + distance) % machines);
  }
  return watched;
}

std::optional<int> Heartbeat::ask(Time now, Time urgent_since, Time timeout) {
  const Time every = ask_every(timeout);
  if (urgent_since == board::kNever || now < urgent_since + every) return std::nullopt;
  if (now < asked_at_ + every) return std::nullopt;
  note_asked(now, timeout);
  return hops_;
}

std::optional<int> Heartbeat::pass_on(Time now, int hops, Time timeout) {
  if (hops == 0 || now < asked_at_ + pass_on_every(timeout)) return std::nullopt;
  note_asked(now, timeout);
  return hops - 1;
}

void Heartbeat::note_asked(Time now, Time timeout) {
  if (now >= asked_at_ + kAsksMissed * ask_every(timeout)) {
    for (const int machine : watched_) peers_.expect(machine, now);
  }
  asked_at_ = now;
}

bool Heartbeat::overdue(int machine, Time now, Time timeout) const {
  return peers_.silent_for(machine, now) >= 2 * ask_every(timeout);
}

std::optional<int> Heartbeat::lost(Time now, Time timeout) const {
  const Time allowed = std::max(kSilenceAllowed, timeout - kAsksBeforeTimeout * ask_every(timeout));
  for (const int machine : watched_) {
    if (peers_.silent_for(machine, now) >= allowed) return machine;
  }
  return std::nullopt;
}

}  // namespace syncopate::agent
