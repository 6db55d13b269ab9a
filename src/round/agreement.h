// When a round that spans machines starts, agreed on by messages. One of these stands for each
// machine and collective; its owner tells it what its own board says, passes messages on, and asks
// whether the round is on. It has no clock, no threads and no memory of its own kind: the agent,
// the simulator and the tests drive it alike.
//
// Every machine applies the rules of the board (round/trigger.h) to what it knows. What is known of
// the others only errs on the side of waiting: deposits stay until the round takes them, ranks that
// have gone do not come back. So several machines that start a round at once do no harm.
//
// - For each round one machine, the same in the eyes of all, collects what the others cannot decide
//   alone: the coordinator. A machine tells it what decides something, and in a long wait a few
//   times more. It asks those that it has not heard from. An answer that would hold no news is not
//   given.
// - The start travels along a tree (round/relay.h). In the common cases (the first arrives and
//   waits; the drawn rank arrives and waits) it is all that is said.
// - With the trigger `all` a machine takes part as soon as its own ranks are there, and the
//   reduction waits for the others. Only machines whose ranks have come and do not wait are told.
// - Each round ends with every machine hearing what the others said when they took part (Facts). So
//   all know alike whether some rank lags too far behind for the next round. If so, the coordinator
//   alone starts it: a machine that lagged tells it when its ranks have caught up.
// - In a long wait the coordinator spreads along the tree who is missing: at most four times, at
//   growing intervals, and only if that has changed.
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
#include <span>
#include <utility>
#include <vector>

#include "round/known_facts.h"
#include "round/machines.h"
#include "round/time.h"
#include "round/trigger.h"
#include "syncopate/policy.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What the agents of two machines say to each other about a round.
struct Message {
  enum class Kind : std::uint8_t {
    start,    // the round is on, says `root`: take part, and tell `span − 1` machines after you
    facts,    // about the sender, for the coordinator
    ask,      // from the coordinator: tell me your facts, now and whenever they decide something
    missing,  // `ranks` are waited for, says `root`: tell `span − 1` machines after you
  };
  Kind kind = Kind::facts;
  std::uint64_t round = 0;
  int span = 0;
  int root = -1;
  bool waited = false;  ///< With `ask`: a rank is known to wait.
  int drawn = -1;       ///< With `ask`: the rank whose deposit starts the round, if it is one's.
  RankSet ranks;        ///< With `missing`: by their numbers in the world.
  Facts facts;
};

class Agreement {
 public:
  /// This machine is `machine`.
  Agreement(const Trigger& trigger, int window, Machines machines, int machine,
            std::uint64_t rounds_before = 0);

  /// The round that is agreed on now.
  std::uint64_t next() const { return next_; }
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

  struct Outgoing {
    int to;
    Message message;
  };
  std::vector<Outgoing> take_messages() { return std::exchange(outbox_, {}); }

  /// Ranks that the round waits for, as far as is known here, in world numbers.
  RankSet missing() const;
  /// The rank, by its number in the world, for whose lag the round was held up; -1 if for none, or
  /// if this machine is not the one to say it.
  int held_up_by() const { return held_up_by_; }

 private:
  bool coordinates() const { return coordinator_ == machine_; }
  /// The round that every rank has to have seen before this one may start.
  std::uint64_t needed() const { return next_ > window_ ? next_ - window_ : 0; }
  bool window_allows() const { return known_.all_have_seen(needed()); }
  void begin_round();
  void find_coordinator();
  bool own_ranks_are_here() const;

  Time consider(Time now);
  Time try_to_start(const Attendance& here, Time now);
  void start_everywhere();
  void spread_start(int span, int root);
  void spread_missing(const RankSet& ranks, int span);

  // As the coordinator.
  Time collect(const Attendance& here, Time now);
  Time when_to_ask(const Attendance& here, Time now) const;
  void ask(int machine);
  void ask_for_drawn();
  Time look_for_missing(Time now);
  bool can_afford_to_spread() const;

  // As another machine.
  Time report(Time now);
  Time when_to_tell(Time now) const;
  /// When to tell what decides something; kNever if nothing does.
  Time when_decided(bool caught_up_now, Time now) const;
  Time when_all_decided(bool caught_up_now, Time now) const;

  void send(int machine, Message message);
  void check(int from, const Message& message) const;
  void keep_for_later(int from, const Message& message);
  void learn(int from, const Message& message, Time now);
  void learn_start(int from, const Message& message);

  Trigger trigger_;
  std::uint64_t window_;
  int machine_;
  Machines machines_;

  std::uint64_t next_;
  KnownFacts known_;
  Facts own_;  ///< As this machine's board said last, before it took part.
  int coordinator_ = 0;
  bool held_up_ = false;  ///< Some rank was known to all to lag when the round before ended.
  bool started_ = false;
  int started_by_ = -1;
  bool announced_ = false;  ///< Every machine that has to be told that it is on is being told.
  int told_span_ = 1;       ///< How many machines from here on know from this one.
  Duration grace_{0};
  bool observed_ = false;        ///< The grace is known, and what this machine's board says.
  Time waiting_since_ = kNever;  ///< When this machine first waited for the round.
  Time open_since_ = kNever;     ///< When the trigger was first seen to hold.
  int held_up_by_ = -1;

  /// What the coordinator has done so far.
  struct Collection {
    RankSet heard;               ///< Machines that have said anything about this round.
    bool heard_any = false;      ///< Whether there is one.
    bool asked = false;          ///< The others were asked.
    int drawn = -1;              ///< The rank that they were asked for.
    Time waited_since = kNever;  ///< When a rank was first known to wait.
    int spreads = 0;             ///< How often it has spread who is missing, …
    Time spread_at = kNever;     ///< … when it may again, …
    RankSet spread;              ///< … and what it has spread last.
    std::int64_t spent = 0;      ///< Messages of the round so far, but for starts.
  } collection_;
  /// What this machine has told the coordinator.
  struct Told {
    Facts facts;              ///< What the coordinator takes for true of this machine.
    bool any = false;         ///< It was told in this round …
    bool asked = false;       ///< … or has asked,
    bool waited = false;      ///< knowing that a rank waits,
    int drawn = -1;           ///< and that this rank starts the round.
    bool answer_due = false;  ///< The last question is still to be answered.
    Time asked_at = kNever;
    Time caught_up_at = kNever;  ///< When no rank here lagged any longer.
    int without_decision = 0;    ///< How often it was told what decides nothing.
  } told_;
  bool informed_ = false;  ///< The coordinator has spread who is missing:
  RankSet missing_;
  /// About the round after this one; of each kind at most one from each machine.
  std::vector<std::pair<int, Message>> early_;
  std::vector<Outgoing> outbox_;
};

}  // namespace syncopate::round
