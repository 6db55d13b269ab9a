// While a rank waits, other machines have to give signs of life now and then: whom an agent asks
// for them, when, and when it gives a machine up that gives none. Has neither a thread nor a clock.
//
// Each machine watches the same few for ever: all others where they are at most kMostWatched, and
// otherwise those 1, 4, 16, 64 … after it. Where they are many, a machine that is asked passes the
// question on to those that it watches. So while one rank waits, every machine is asked by a live
// one: between the waiting machine and the first lost one after it all live, and pass it on. What
// follows:
//
// 1. A lost machine is noticed before the wait times out, whichever machine waits and whichever computes.
//      test: ManyMachines.ALostMachineIsNoticedWhoeverWaits
// 2. Each machine asks kMostWatched times in the time between two questions, at most: all together
//    8 M times a second.                             test: the same
// 3. A machine that cannot go on tells those that it watches, and so does each that hears of it,
//    once: at most 8 M messages, however many notice at once.
//      test: ManyMachines.AFailureReachesAllByAFewMessagesEach
#pragma once

#include <optional>
#include <vector>

#include "agent/peer_activity.h"
#include "board/platform.h"

namespace syncopate::agent {

class Heartbeat {
 public:
  using Time = board::Time;

  static constexpr int kMostWatched = 8;
  /// How often a question is passed on at most: more than it takes to reach all machines, even
  /// if some of them are lost.
  static constexpr int kMostHops = 64;
  /// Which of so many machines `machine` watches.
  static std::vector<int> whom_to_watch(int machine, int machines);

  /// `peers` outlives it: what is expected of others is noted there.
  Heartbeat(int machine, int machines, PeerActivity& peers)
      : watched_(whom_to_watch(machine, machines)),
        hops_(machines - 1 <= kMostWatched ? 0 : kMostHops),
        peers_(peers) {}

  const std::vector<int>& watched() const { return watched_; }
  bool watches_all() const { return hops_ == 0; }

  /// Whether it is time to ask those that are watched, where a rank waits since then and for up to
  /// `timeout`. If so they are taken to be asked. Returns how often they are to pass it on.
  std::optional<int> ask(Time now, Time urgent_since, Time timeout);
  /// The same where another machine asks, which is to be passed on `hops` times.
  std::optional<int> pass_on(Time now, int hops, Time timeout);
  /// Whether the others have been asked since then.
  bool asked_since(Time time) const { return asked_at_ >= time; }

  /// Whether `machine`, which is watched, should have answered by now.
  bool overdue(int machine, Time now, Time timeout) const;
  /// A watched machine that is not waited for any longer.
  std::optional<int> lost(Time now, Time timeout) const;

 private:
  void note_asked(Time now, Time timeout);

  std::vector<int> watched_;
  int hops_;
  PeerActivity& peers_;
  Time asked_at_ = 0;
};

}  // namespace syncopate::agent
