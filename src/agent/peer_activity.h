// What an agent knows of those of other machines: when it last had to do with each, and whether it
// sleeps. That tells whether to ring there (fabric/doorbell.h), whether this one can count on being
// rung at, and for how long another has been silent. Has neither a thread nor a clock.
#pragma once

#include <vector>

#include "agent/polling.h"
#include "board/platform.h"

namespace syncopate::agent {

class PeerActivity {
 public:
  using Time = board::Time;

  /// What goes to another machine.
  enum class Traffic {
    message,  // which no rank there may expect
    data,     // for which a rank waits there
  };

  explicit PeerActivity(int machines) : machines_(machines) {}

  /// A message came from `machine`, which says whether it sleeps whenever it can.
  void note_heard(int machine, Time now, bool drowsy);
  /// A message that is about to go to `machine` says it of this one.
  void note_told(int machine, bool drowsy) { machines_[machine].told_drowsy = drowsy; }
  void note_sent(int machine, Time now) { machines_[machine].contact_at = now; }
  /// Bells have rung through from `machine`, which from now on rings where it should.
  void note_bell(int machine) { machines_[machine].rings = true; }
  /// From now on something is expected of `machine`: its silence counts from here.
  void expect(int machine, Time now);

  /// Whether to ring as something goes to `machine`, before note_sent(), as it may find no agent
  /// awake. `here` is the room on this machine.
  bool should_ring(int machine, Traffic parcel, Time now, const CpuBudget& here) const;
  /// Whether any machine that has something for this one rings, as far as is known.
  bool others_ring(Time now) const;
  /// For how long nothing has come from `machine`.
  Time silent_for(int machine, Time now) const { return now - machines_[machine].heard_at; }

 private:
  struct Machine {
    Time contact_at = 0;       ///< When a message last went there or came from there.
    Time heard_at = 0;         ///< When one last came, or was expected; 0 before that.
    bool drowsy = false;       ///< It said so last …
    bool told_drowsy = false;  ///< … and this one said so there.
    bool rings = false;
  };

  std::vector<Machine> machines_;  ///< Of this one nothing is ever noted.
};

}  // namespace syncopate::agent
