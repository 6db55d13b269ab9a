#include "agent/peer_activity.h"

#include <algorithm>

namespace syncopate::agent {
namespace {

using board::Time;

/// How long another machine may take this one for awake: it may have got the last message later.
constexpr Time kTakenForAwake = PollingPolicy::kAwakeOnFreeCores + 1'000'000;

}  // namespace

void PeerActivity::note_heard(int machine, Time now, bool drowsy) {
  Machine& from = machines_[machine];
  from.heard_at = now;
  from.contact_at = now;
  from.drowsy = drowsy;
}

void PeerActivity::expect(int machine, Time now) {
  machines_[machine].heard_at = std::max(machines_[machine].heard_at, now);
}

bool PeerActivity::should_ring(int machine, Traffic parcel, Time now, const CpuBudget& here) const {
  // What a machine has said of itself holds for whatever goes there. Of all else it is taken to be
  // like this one.
  const Machine& there = machines_[machine];
  if (there.drowsy) return true;
  // A rank there waits for data, and stays awake for them, however long ago the last message was;
  // but not if others have come to need the cores there, as they do here.
  if (parcel == Traffic::data) return here.crowded;
  // A message is found at once as long as the last one keeps that machine awake. Its ranks are
  // taken to wait, so that one of them does the agent's work, and to have as many cores.
  const bool oversubscribed = here.oversubscribed(here.ranks);
  return now - there.contact_at >
         (oversubscribed ? PollingPolicy::kAwakeOversubscribed : PollingPolicy::kAwakeOnFreeCores);
}

bool PeerActivity::others_ring(Time now) const {
  bool any = false;
  for (const Machine& there : machines_) {
    const bool taken_for_awake = now < there.contact_at + kTakenForAwake;
    if (taken_for_awake && !there.told_drowsy) return false;
    // One of which nothing was ever heard has nothing to do with this one.
    if (there.heard_at != 0 && !there.rings) return false;
    any = any || there.rings;
  }
  return any;
}

}  // namespace syncopate::agent
