// When a round that spans machines starts, agreed on by messages. One of these stands for each
// machine and collective; its owner tells it what its own board says, passes messages on, and asks
// whether the round is on. It has no clock, no threads and no memory of its own kind: the agent,
// the simulator and the tests drive it alike.
//
// Every machine applies the rule of the board (round/start.h) to what it knows. What is known of
// the others only errs on the side of waiting: deposits stay until the round takes them, ranks that
// have gone do not come back. So several machines that start a round at once do no harm.
//
// - For each round one machine, the same in the eyes of all, collects what the others cannot decide
//   alone: the coordinator (coordinator.h). The others tell it what decides something (reporter.h).
// - The start travels along a tree (round/relay.h). In the common cases (the first arrives and
//   waits; the drawn rank arrives and waits) it is all that is said.
// - With the trigger `all` a machine takes part as soon as its own ranks are there, and the
//   reduction waits for the others. Only machines whose ranks have come and do not wait are told.
// - Each round ends with every machine hearing what the others said when they took part (Facts). So
//   all know alike whether some rank lags too far behind for the next round. If so, the coordinator
//   alone starts it: a machine that lagged tells it when its ranks have caught up.
//
// Messages per round, of M machines, however long the wait:
//
//   1  all machines together send at most 8 M, for each trigger but `count`; departures of ranks
//      and, where ranks deposit without waiting, a late wait cost a message each besides
//   2  with `count(k)` an arrival decides, and costs a message besides, unless several are seen in
//      one look
//
// tests/round/message_bounds_test.cpp counts them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "round/coordinator.h"
#include "round/machines.h"
#include "round/message.h"
#include "round/reporter.h"
#include "round/round_state.h"
#include "round/time.h"
#include "syncopate/policy.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

class Agreement {
 public:
  /// This machine is `machine`.
  Agreement(const Trigger& trigger, int window, Machines machines, int machine,
            std::uint64_t rounds_before = 0);

  /// The round that is agreed on now.
  std::uint64_t next() const { return round_.next; }
  /// Whether it is on: time to take what is on the board and to take part.
  bool started() const { return started_; }

  /// The machine that saw the trigger hold and told the others; -1 if each takes part on its own
  /// account.
  int started_by() const { return started_by_; }

  /// What the board of this machine says. Returns when to call again if there is no news.
  Time observe(const Facts& own, Duration grace, Time now);
  /// Throws BadMessage if the message cannot be.
  Time hear(int from, const Message& message, Time now);
  /// The round is over; `facts` are those of every machine when it took part.
  void complete(std::span<const Facts> facts, Time now);

  using Outgoing = Outbox::Outgoing;
  std::vector<Outgoing> take_messages() { return outbox_.take(); }

  /// Ranks that the round waits for, as far as is known here, in world numbers.
  RankSet missing() const;
  /// The rank, by its number in the world, for whose lag the round was held up; -1 if for none, or
  /// if this machine is not the one to say it.
  int held_up_by() const { return round_.held_up_by; }

 private:
  struct Known;

  void begin_round();
  Time consider(Time now);
  Time try_to_start(const Attendance& here, Time now);
  void start_everywhere();
  void spread_start(int span, int root);

  void check(int from, const Message& message) const;
  void keep_for_later(int from, const Message& message);
  void learn(int from, const Message& message, Time now);
  void learn_start(int from, const Message& message);

  RoundState round_;
  Coordinator coordinator_;
  Reporter reporter_;
  Outbox outbox_;

  bool started_ = false;
  int started_by_ = -1;
  bool announced_ = false;  ///< Every machine that has to be told that it is on is being told.
  int told_span_ = 1;       ///< How many machines from here on know from this one.
  Duration grace_{0};
  bool observed_ = false;            ///< The grace is known, and what this machine's board says.
  std::optional<RankSet> informed_;  ///< Who is missing, as the coordinator has spread.
  /// About the round after this one; of each kind at most one from each machine.
  std::vector<std::pair<int, Message>> early_;
};

}  // namespace syncopate::round
