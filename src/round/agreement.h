// When a round that spans machines starts, agreed on by messages. One of these stands for each
// machine and collective; whoever owns it tells it what its own board says, passes messages on,
// and asks whether the round is on. It has no clock, no threads and no memory of its own kind: the
// agent, the simulator and the tests drive it alike.
//
// Every machine applies the rules of the board (round/trigger.h) to what it knows: its own board as
// it is, the others as they said last. What is known of the others only errs on the side of
// waiting: deposits stay until the round takes them, ranks that have gone do not come back. So any
// machine that sees the trigger hold may start the round, and several that do at once do no harm.
//
// - The start travels along a binomial tree rooted at whoever saw the trigger hold: ⌈log₂ M⌉ hops,
//   M − 1 messages.
// - For each round one machine, the same in everybody's eyes, is told what the others cannot decide
//   alone: the coordinator. It asks the others if it needs to. In the common cases (the first
//   arrives and waits; the drawn rank arrives and waits) there is nothing to tell.
// - With the trigger `all` no message is needed: a machine takes part as soon as its own ranks are
//   there, and the reduction waits for the others. Only if that takes long are they told.
// - Each round ends with every machine hearing what the others said when they took part (Facts), so
//   all begin the next one from the same knowledge.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "round/time.h"
#include "round/trigger.h"
#include "syncopate/policy.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What a machine says of itself about the round to come. Ranks are counted within the machine.
struct Facts {
  RankSet here;        ///< Those with a deposit.
  RankSet counting;    ///< Those that rounds may be waited for.
  bool waits = false;  ///< One of them waits for the round.
  /// Every rank that may hold rounds up has seen this one.
  std::uint64_t seen = kNobodyLags;

  int slowest = -1;  ///< The one that has seen no more, if any.

  static constexpr std::uint64_t kNobodyLags = std::numeric_limits<std::int64_t>::max();
  friend bool operator==(const Facts&, const Facts&) = default;
};

/// What the agents of two machines say to each other about a round.
struct Message {
  enum class Kind : std::uint8_t {
    start,  // the round is on, says `root`: take part, and tell `span − 1` machines after you
    facts,  // about the sender
    ask,    // tell me your facts, now and whenever they change
  };
  Kind kind = Kind::facts;
  std::uint64_t round = 0;
  int span = 0;
  int root = -1;
  Facts facts;
};

class Agreement {
 public:
  /// `machine_of` tells the machine of every rank; this one is `machine`.
  Agreement(const Trigger& trigger, int window, const std::vector<int>& machine_of, int machine,
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
  /// The rank, by its number in the world, for whose lag the round was held up; -1 if for none.
  int held_up_by() const { return held_up_by_; }

 private:
  int machines() const { return static_cast<int>(ranks_of_.size()); }
  int coordinator() const;
  bool counts(int rank) const;
  bool is_here(int rank) const;
  Attendance attendance() const;
  int drawn() const;
  bool somebody_waits() const;
  bool window_allows() const;
  void note_who_lags();
  bool own_ranks_are_here() const;
  /// Whether this machine has waited for the round for so long.
  bool has_waited(Time long_enough, Time now) const;

  Time consider(Time now);
  void start_everywhere();
  void spread(int span, int root);
  bool worth_asking(const Attendance& here, Time now) const;
  bool worth_telling(Time now) const;
  void ask_everybody();
  void tell_facts(Time now);
  void tell(int machine);
  void send(int machine, Message message);
  void check(int from, const Message& message) const;
  void keep_for_later(int from, const Message& message);
  void learn(int from, const Message& message);

  Trigger trigger_;
  std::uint64_t window_;
  int machine_;
  std::vector<std::vector<int>> ranks_of_;        ///< World numbers of each machine's ranks.
  std::vector<std::pair<int, int>> whereabouts_;  ///< Of each rank: its machine, its number there.

  std::uint64_t next_;
  std::vector<Facts> known_;     ///< Of every machine, about this round.
  std::vector<Facts> at_start_;  ///< As all machines knew them when the round before ended.
  bool started_ = false;
  int started_by_ = -1;
  bool announced_ = false;    ///< Somebody has told, or tells, every machine that it is on.
  int told_span_ = 1;         ///< How many machines from here on know from this one.
  bool asked_ = false;        ///< This machine has asked the others.
  std::vector<bool> heard_;   ///< Who has said anything about this round.
  std::vector<bool> askers_;  ///< Who wants to hear of every change.
  std::vector<Facts> said_;   ///< What each machine has last heard from here.
  bool seen_told_ = true;     ///< Whether the others know that this machine no longer lags.
  Duration grace_{0};
  bool observed_ = false;        ///< The grace is known, and what this machine's board says.
  Time waiting_since_ = kNever;  ///< When this machine first waited for the round.
  int held_up_by_ = -1;
  Time open_since_ = kNever;  ///< When the trigger was first seen to hold.
  /// About the round after this one; of each kind at most one from each machine.
  std::vector<std::pair<int, Message>> early_;
  std::vector<Outgoing> outbox_;
};

}  // namespace syncopate::round
