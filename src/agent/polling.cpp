#include "agent/polling.h"

#include <algorithm>
#include <utility>

namespace syncopate::agent {
namespace {

using board::kNever;
using board::Time;

/// Data that do not get on for so long wait for another machine.
constexpr Time kAwakeWhileMoving = 20'000'000;
/// Naps get longer and longer, but not so long that a round waits for one for a millisecond, or for
/// a share that matters of the time in which nothing has happened …
constexpr Time kLongNap = 500'000;
constexpr Time kLongestNap = 2'000'000;
constexpr Time kNapsOfSilence = 200;
/// … or some times as long where the agent will be rung at.
constexpr Time kWhereOthersRing = 4;
/// Under watch: machines that are out of reach, and ranks that have died, are looked for.
constexpr Time kLongestUnderWatch = 100'000'000;
/// Where the agent and the rank that does its work share a core and no other rank can want
/// anything, every look at what the rank does is time of the rank.
constexpr Time kWhileDriven = 100'000;
constexpr Time kWhileDrivenOnRanksCore = kLongNap;

}  // namespace

bool PollingPolicy::note_work(Time now, const Work& work) {
  urgent_since_ = work.urgent ? std::min(urgent_since_, now) : kNever;
  moving_ = work.moving;
  const bool moved = work.moves != moves_;
  if (moved) moved_at_ = now;
  moves_ = work.moves;
  return moved;
}

bool PollingPolicy::awake(Time now, const CpuBudget& room, int threads) const {
  if (moving_ && now < moved_at_ + kAwakeWhileMoving) return true;
  if (room.crowded) return false;
  const bool urgent = urgent_since_ != kNever;
  const Time lively = urgent ? std::max(active_at_, urgent_since_) : active_at_;
  if (!room.oversubscribed(threads)) return now < lively + kAwakeOnFreeCores;
  return urgent && now < lively + kAwakeOversubscribed;
}

Time PollingPolicy::nap(Time now, Time again_at, const CpuBudget& room, bool others_ring) {
  const bool under_way = again_at <= now;
  if (active_at_ > napped_since_) {
    napped_since_ = active_at_;
    // Where others need the core, each look takes it from them.
    const bool lazy = urgent_since_ == kNever && (room.crowded || room.on_ranks_core());
    nap_ = lazy ? kLongNap : kShortestNap / 2;
  }
  Time longest = std::clamp((now - active_at_) / kNapsOfSilence, kLongNap, kLongestNap);
  if (!under_way && others_ring) longest *= kWhereOthersRing;
  nap_ = std::min(2 * nap_, longest);
  // What is under way wants to work at once, but that can wait for a nap as well.
  return under_way ? nap_ : std::min(again_at - now, nap_);
}

Time PollingPolicy::nap_under_watch(Time now, Time again_at) {
  if (again_at > now) return std::min(again_at - now, kLongestUnderWatch);
  if (std::exchange(napped_since_, active_at_) != active_at_) nap_ = kShortestNap / 2;
  nap_ = std::min(2 * nap_,
                  std::clamp((now - active_at_) / kNapsOfSilence, kUnderWatch, kLongestUnderWatch));
  return nap_;
}

Time PollingPolicy::while_driven(const CpuBudget& room) {
  return room.on_ranks_core() ? kWhileDrivenOnRanksCore : kWhileDriven;
}

}  // namespace syncopate::agent
