// What the coordinator of a round does until it starts: it asks the machines that it has not heard
// from, and in a long wait spreads who is missing: at most four times, at growing intervals, and
// only if that has changed.
#pragma once

#include <cstdint>

#include "round/message.h"
#include "round/round_state.h"

namespace syncopate::round {

class Coordinator {
 public:
  /// A round begins, which this machine may or may not coordinate.
  void begin(const RoundState& round);
  /// That machine has said something about the round.
  void hear(int machine);
  /// Asks and spreads what is due, where `here` have come; returns when to call again.
  Time collect(const RoundState& round, const Attendance& here, Time now, Outbox& outbox);

 private:
  Time when_to_ask(const RoundState& round, const Attendance& here, Time now) const;
  void ask(const RoundState& round, int machine, Outbox& outbox);
  void ask_for_drawn(const RoundState& round, Outbox& outbox);
  Time look_for_missing(const RoundState& round, Time now, Outbox& outbox);
  bool can_afford_to_spread(const RoundState& round) const;

  RankSet heard_;               ///< Machines that have said anything about this round.
  bool heard_any_ = false;      ///< Whether there is one.
  bool asked_ = false;          ///< The others were asked.
  int drawn_ = -1;              ///< The rank that they were asked for.
  Time waited_since_ = kNever;  ///< When a rank was first known to wait.
  int spreads_ = 0;             ///< How often it has spread who is missing, …
  Time spread_at_ = kNever;     ///< … when it may again, …
  RankSet spread_;              ///< … and what it has spread last.
  std::int64_t spent_ = 0;      ///< Messages of the round so far, but for starts.
};

}  // namespace syncopate::round
