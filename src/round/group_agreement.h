// When the average of a group that spans machines is on, and what each of its machines brings to
// it, agreed on by messages. One of these stands for each machine and group average; whoever owns
// it tells it what its own board says, passes messages on, and does what is on. Like the agreement
// on rounds of all machines (agreement.h) it has no clock, no threads and no memory of its own
// kind.
//
// - A machine starts a round of a group by choosing what it brings and telling the other machines
//   of the group, which starts the round with them. Several that start at once do no harm: each says
//   once what it brings, and the round is complete where all have been heard.
// - With a grace time machines tell each other when all their members have come, so that no machine
//   waits until it is over if all are there.
// - No round starts while some rank lags further behind than the window. A machine that is held up
//   asks the others, and each answers when its ranks have caught up. Where more than a few lag, it
//   asks the coordinator of the step that has to be seen, which asks them once for all.
// - Every so many steps all ranks average together: each machine reports when its own ranks are
//   there, and no machine goes on before the reports of all are gathered. A machine that no rank is
//   left on says so with a report of its own, and when all say so it is over.
// - In a long wait a machine asks once who is missing: its group, or, where it waits for all, the
//   coordinator of the step, which tells it again when that has changed, at growing intervals.
//
// Messages of a step, of M machines in groups of S, however long the wait: at most 4 S M, and
// (S − 1) M more with a grace time.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "round/groups.h"
#include "round/machines.h"
#include "round/time.h"
#include "syncopate/group_average.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What the board of a machine says of one of its ranks.
struct GroupFacts {
  bool counts = false;          ///< Rounds use its weights, and may be waited for it.
  std::uint64_t published = 0;  ///< The step of its newest weights.
  std::uint64_t seen = 0;       ///< The steps it has been through.
  bool waits = false;           ///< For the mean of `published`, which is not there yet.
  Duration step_time{0};        ///< How long its steps typically take.
};

/// What a machine brings to a round.
struct GroupShare {
  std::uint64_t staleness = 0;
  std::vector<int> contributors;  ///< By their numbers in the world.
  friend bool operator==(const GroupShare&, const GroupShare&) = default;
};

/// The average of a group at a step.
struct GroupRound {
  std::uint64_t step = 0;
  int group = 0;
  friend bool operator==(const GroupRound&, const GroupRound&) = default;
  friend bool operator<(const GroupRound& a, const GroupRound& b) {
    return std::tie(a.step, a.group) < std::tie(b.step, b.group);
  }
};

/// What the agents of two machines say to each other about groups.
struct GroupMessage {
  enum class Kind : std::uint8_t {
    share,     // what the sender brings to `round`, which is on
    here,      // all members of the sender's machine have come to `round`
    ask,       // tell me when your ranks have seen `step`
    seen,      // the sender's ranks have seen `step`
    who,       // of yours is waited for? As Wanted says, with `round`, `member`, `step` and `seen`
    missing,   // `ranks` are, of those asked about with the same
    ask_all,   // to the coordinator of `step`: tell me when the ranks of all machines have seen it
    all_seen,  // the ranks of all machines have seen `step`
    who_all,   // to the coordinator of `step`: who of all ranks is waited for? As `who`
    all_missing,  // `ranks` of any machines are
  };
  Kind kind = Kind::share;
  GroupRound round;
  int member = 0;  ///< One of the group, from which its others follow.
  std::uint64_t step = 0;
  std::uint64_t seen = 0;  ///< With a share: what the sender's ranks have seen.
  std::uint64_t staleness = 0;
  std::vector<int> ranks;  ///< Contributors, or who is missing, by their numbers in the world.
};

class GroupAgreement {
 public:
  /// `options` are complete. This machine is `machine`.
  GroupAgreement(const GroupOptions& options, Machines machines, int machine);

  /// What the board says of each rank of this machine. Returns when to call again without news.
  Time observe(std::span<const GroupFacts> own, Time now);
  /// Throws BadMessage if the message cannot be.
  void hear(int from, const GroupMessage& message);

  /// Who is in a round of a group that spans machines, and what they bring.
  struct Party {
    std::vector<int> machines;           ///< In increasing order.
    std::vector<int> members;            ///< Of this machine, counted within it.
    int most = 0;                        ///< How many of its members a machine has at most.
    std::map<int, GroupShare> shares{};  ///< By machine, as far as they were heard.

    bool complete() const { return shares.size() == machines.size(); }
  };
  /// The group at a step of a rank of this machine, counted within it.
  int group_at(int rank, std::uint64_t step) { return whereabouts(rank, step).round.group; }
  /// Rounds that are on, to which this machine has yet to bring its share.
  std::vector<GroupRound> started() const;
  const Party& party(const GroupRound& round) const { return rounds_.at(round).party; }
  void bring(const GroupRound& key, GroupShare share);
  /// The round is over on this machine.
  void complete(const GroupRound& round) { rounds_.erase(round); }

  /// What a machine says when all ranks are to average together.
  struct MachineReport {
    std::uint64_t step = 0;  ///< 0: nobody is left there.
    std::uint64_t seen = 0;
    int rounds = 0;  ///< Of groups, that are under way there.
  };
  /// Whether it is time to say it: nobody here is missing, or nobody is left here.
  bool global_due() const;
  MachineReport report() const;
  /// The reports of all machines. Returns the step at which all average now; 0 if nobody is left.
  /// Throws BadMessage for a report that cannot be.
  std::uint64_t gather(std::span<const MachineReport> reports);
  /// The step of the next time, or of the one under way.
  std::uint64_t global_step() const { return global_step_; }
  void complete_global() { global_step_ += plan_.every(); }
  /// Nobody is left anywhere, and nothing is under way: what the others have ended may go on here.
  bool over() const;

  struct Outgoing {
    int to;
    GroupMessage message;
  };
  std::vector<Outgoing> take_messages() { return std::exchange(outbox_, {}); }

  /// What every rank of the other machines has seen, as far as is known here.
  std::uint64_t seen_elsewhere() const { return machines() > 1 ? elsewhere_ : kNobodysStep; }
  /// Whether somebody waits for others to catch up, who may be on this machine.
  bool held_up() const { return held_up_; }
  /// Whether somebody here waits.
  bool somebody_waits() const { return waiting_since_ != kNever; }
  /// For whom, by their numbers in the world; known after a while.
  RankSet missing() const;

 private:
  struct Round {
    Party party;
    bool on = false;
    Time wanted_at = kNever;  ///< When a member of this machine first waited for it.
    std::vector<bool> here;   ///< Machines whose members have all come.
    bool told_here = false;
  };
  /// What the last publication of a rank is for, kept so that it is worked out once.
  struct Whereabouts {
    std::uint64_t step = 0;
    bool spans = false;
    GroupRound round;
  };
  /// What is waited for: publications of a step, of the members of a round or of everybody, or
  /// that somebody has seen a step.
  struct Wanted {
    std::uint64_t published = 0;
    std::uint64_t seen = 0;
    GroupRound round{};  ///< Its step is 0 if it is everybody's.
    int member = 0;      ///< Of the round.
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };

  /// A machine that wants to hear that ranks have seen steps.
  struct Asker {
    int machine = 0;
    std::uint64_t first = 0;  ///< The first step that it waits for …
    std::uint64_t last = 0;   ///< … and the last.
    std::uint64_t told = 0;
  };
  /// A machine that wants to know who of this one is missing.
  struct Curious {
    int machine = 0;
    Wanted wanted;
    bool answered = false;
    bool through = false;  ///< It was told that nobody is.
  };
  /// What this machine finds out about all ranks for others.
  struct Inquiry {
    Wanted wanted;
    std::vector<int> askers{};
    RankSet missing;
    RankSet told{};
    Time asked_at = kNever;
    Time tell_at = kNever;
    int tells = 0;
  };
  /// What a machine says that it has seen when nobody is left there: more than any step.
  static constexpr std::uint64_t kNobodysStep = std::numeric_limits<std::int64_t>::max();
  /// A message has room for so many ranks, and a reader for fewer.
  static constexpr std::size_t kMostNamed = 1024;

  int machines() const { return machines_.count(); }
  /// The machine that finds out for the others who has yet to come to a step.
  int coordinator(std::uint64_t step) const {
    return static_cast<int>(step % static_cast<unsigned>(machines()));
  }
  std::size_t most_kept() const { return 16 + 2 * static_cast<std::size_t>(machines()); }
  std::span<const int> own_ranks() const { return machines_.on(machine_); }
  bool anybody_counts() const;
  bool is_through(const GroupFacts& rank) const { return rank.seen >= rank.published; }
  std::uint64_t least_seen() const;
  bool window_allows(std::uint64_t step) const {
    return slowest_ + static_cast<std::uint64_t>(options_.window) >= step;
  }
  /// The furthest step whose rounds can have started anywhere.
  std::uint64_t furthest_step() const;
  void check(int from, const GroupMessage& message) const;
  Round make_round(const GroupRound& key, int member) const;
  Round& round_of(const GroupRound& key, int member);
  /// The one that a message is about, which makes sense for it.
  Round& round_heard_of(int from, const GroupMessage& message);
  const Whereabouts& whereabouts(int rank, std::uint64_t step);
  void look_at_ranks(Time now);
  bool all_here(const GroupRound& key, const Round& round) const;
  Duration grace(const Round& round) const;
  Time start_at(const GroupRound& key, Round& round, Time now);
  void tell_here(const GroupRound& key, Round& round);
  void tell_party(const Round& round, const GroupMessage& message);
  void note_seen(int machine, std::uint64_t step);
  void ask_who_lags();
  void ask_those_that_lag(std::uint64_t step);
  void add_asker(std::vector<Asker>& askers, int machine, std::uint64_t step) const;
  void answer_askers();
  static bool under_way(const Round& round) { return round.on || !round.party.shares.empty(); }
  bool gracious() const;
  Wanted what_is_wanted() const;
  Time look_for_missing(Time now);
  void ask_who();
  static GroupMessage about(GroupMessage::Kind kind, const Wanted& wanted);
  static Wanted asked_about(const GroupMessage& message);
  void forget_missing(int machine);
  void note_missing(int from, const GroupMessage& message);
  void answer_curious();
  void inquire(int from, const Wanted& wanted);
  void tell_inquirer(int machine, const Inquiry& inquiry);
  Time answer_inquiries(Time now);
  std::vector<int> late(const Wanted& wanted) const;
  void send(int machine, GroupMessage message);

  GroupOptions options_;
  GroupPlan plan_;
  int machine_;
  Machines machines_;

  std::vector<GroupFacts> own_;
  bool observed_ = false;  ///< They are what the board says.
  std::vector<Whereabouts> whereabouts_;
  std::map<GroupRound, Round> rounds_;
  std::uint64_t global_step_;
  bool all_have_left_ = false;

  std::vector<std::uint64_t> seen_;      ///< What every rank of each other machine has seen, …
  std::uint64_t elsewhere_ = 0;          ///< … the least of it, …
  int at_least_;                         ///< … and how many machines have seen no more.
  std::vector<std::uint64_t> asked_;     ///< The step for which each machine was asked last.
  std::set<std::uint64_t> asked_steps_;  ///< Those that others were asked about.
  std::vector<Asker> askers_;            ///< About this machine's ranks …
  std::vector<Asker> askers_of_all_;     ///< … and about those of all.
  std::uint64_t slowest_ = 0;            ///< What every rank of every machine has seen.
  bool held_up_ = false;

  Time waiting_since_ = kNever;  ///< For what is wanted now.
  Wanted wanted_;
  bool asked_who_ = false;
  RankSet missing_;  ///< As others said last.
  std::vector<Curious> curious_;
  std::vector<Inquiry> inquiries_;
  std::vector<Outgoing> outbox_;
};

}  // namespace syncopate::round
