// For whom the ranks of a machine wait in averages of groups, found out from other machines: for
// messages to the user. Like the agreement whose part it is (group_agreement.h) it has no clock.
//
// In a long wait a machine asks once who is missing: its group, or, where it waits for all, the
// coordinator of the step. That one asks all machines, and tells those that have asked it again
// when the answer has changed, at growing intervals.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "round/group_message.h"
#include "round/machines.h"
#include "round/time.h"
#include "syncopate/rank_set.h"

namespace syncopate::round {

/// What is waited for: publications of a step, of the members of a round or of all ranks, or that
/// ranks have seen a step.
struct GroupWanted {
  std::uint64_t published = 0;  ///< 0: nothing is waited for.
  std::uint64_t seen = 0;
  GroupRound round{};  ///< Its step is 0 if it is that of all.
  int member = 0;      ///< Of the round.
  friend bool operator==(const GroupWanted&, const GroupWanted&) = default;
};

class GroupMissing {
 public:
  /// Which ranks of this machine are late for what is waited for, in increasing order.
  using Late = std::function<std::vector<int>(const GroupWanted&)>;

  GroupMissing(Machines machines, int machine)
      : machines_(std::move(machines)), machine_(machine), missing_(machines_.ranks()) {}

  /// What this machine waits for now, and of which machines if it is a round. Asks when that has
  /// lasted; returns when to look again.
  Time look(const GroupWanted& wanted, std::span<const int> party, Time now, GroupOutbox& out);
  /// Answers machines that have asked; returns when to do it again.
  Time answer(const Late& late, Time now, GroupOutbox& out);
  /// One of `who`, `missing`, `who_all` and `all_missing`.
  void hear(int from, const GroupMessage& message, GroupOutbox& out);
  /// A machine has brought its share to a round: none of its ranks is missing there.
  void note_share(int from, const GroupRound& round);

  /// Whether a rank of this machine waits.
  bool waits() const { return waiting_since_ != kNever; }
  /// For whom, by their numbers in the world; known after a while.
  const RankSet& ranks() const { return missing_; }

 private:
  /// A machine that wants to know who of this one is missing.
  struct Curious {
    int machine = 0;
    GroupWanted wanted;
    bool answered = false;
    bool through = false;  ///< It was told that none is.
  };
  /// What this machine finds out about all ranks for others.
  struct Inquiry {
    GroupWanted wanted;
    std::vector<int> askers{};
    RankSet missing;
    RankSet told{};
    Time asked_at = kNever;
    Time tell_at = kNever;
    int tells = 0;
  };

  std::size_t most_kept() const { return 16 + 2 * static_cast<std::size_t>(machines_.count()); }
  void ask(std::span<const int> party, GroupOutbox& out);
  /// Of this machine, where it is known who is missing.
  void note_own(const Late& late);
  void note_missing(int from, const GroupMessage& message);
  void answer_curious(const Late& late, GroupOutbox& out);
  void inquire(int from, const GroupWanted& wanted, GroupOutbox& out);
  void tell_inquirer(int machine, const Inquiry& inquiry, GroupOutbox& out);
  Time answer_inquiries(const Late& late, Time now, GroupOutbox& out);

  Machines machines_;
  int machine_;
  Time waiting_since_ = kNever;  ///< For what is wanted now.
  GroupWanted wanted_;
  bool asked_ = false;
  RankSet missing_;  ///< As others said last, and of this machine as it is.
  std::vector<Curious> curious_;
  std::vector<Inquiry> inquiries_;
};

}  // namespace syncopate::round
