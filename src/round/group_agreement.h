// When the average of a group that spans machines is on, and what each of its machines brings to
// it, agreed on by messages. One of these stands for each machine and group average; its owner
// tells it what its own board says, passes messages on, and does what is on. Like the agreement
// on rounds of all machines (agreement.h) it has no clock, no threads and no memory of its own
// kind.
//
// - A machine starts a round of a group by choosing what it brings and telling the other machines
//   of the group, which starts the round with them. Several that start at once do no harm: each says
//   once what it brings, and the round is complete where all have been heard.
// - With a grace time machines tell each other when all their members have come, so that no machine
//   waits until it is over if all are there.
// - No round starts while some rank lags further behind than the window (group_progress.h). A
//   machine that is held up asks the others, and each answers when its ranks have caught up.
// - Every so many steps all ranks average together: each machine reports when its own ranks are
//   there, and no machine goes on before the reports of all are gathered. A machine that no rank is
//   left on says so with a report of its own, and when all say so it is over.
// - In a long wait a machine asks once who is missing (group_missing.h).
//
// Messages of a step, of M machines in groups of S, however long the wait: at most 4 S M, and
// (S − 1) M more with a grace time.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "round/group_message.h"
#include "round/group_missing.h"
#include "round/group_progress.h"
#include "round/groups.h"
#include "round/machines.h"
#include "round/time.h"
#include "syncopate/group_average.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What a machine brings to a round.
struct GroupShare {
  std::uint64_t staleness = 0;
  std::vector<int> contributors;  ///< By their numbers in the world.
  friend bool operator==(const GroupShare&, const GroupShare&) = default;
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
  /// The round is over on this machine: that of a group, or that of all at global_step().
  void complete(const GroupRound& round);

  /// What a machine says when all ranks are to average together.
  struct MachineReport {
    std::uint64_t step = 0;  ///< 0: no rank is left there.
    std::uint64_t seen = 0;
    int rounds = 0;  ///< Of groups, that are under way there.
  };
  /// Whether it is time to say it: no rank here is missing, or none is left here.
  bool global_due() const;
  MachineReport report() const;
  /// The reports of all machines. Returns the step at which all average now; 0 if no rank is left.
  /// Throws BadMessage for a report that cannot be.
  std::uint64_t gather(std::span<const MachineReport> reports);
  /// The step of the next time, or of the one under way.
  std::uint64_t global_step() const { return global_step_; }
  /// No rank is left anywhere, and nothing is under way: what the others have ended may go on here.
  bool over() const;

  using Outgoing = GroupOutgoing;
  GroupOutbox take_messages() { return std::exchange(outbox_, {}); }

  /// What the ranks of all machines have seen.
  const GroupProgress& progress() const { return progress_; }
  /// Whether a rank here waits, and for whom.
  const GroupMissing& missing() const { return missing_; }

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

  int machines() const { return machines_.count(); }
  std::span<const int> own_ranks() const { return machines_.on(machine_); }
  bool any_counts() const;
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
  static bool under_way(const Round& round) { return round.on || !round.party.shares.empty(); }
  bool gracious() const;
  GroupWanted what_is_wanted() const;
  std::vector<int> late(const GroupWanted& wanted) const;

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

  GroupProgress progress_;
  GroupMissing missing_;
  GroupOutbox outbox_;
};

}  // namespace syncopate::round
