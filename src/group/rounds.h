// The round of each group and step, in a record of its own. Its life, every part of which any
// member may perform:
//   start    the record's attempt word goes to round t, with a reserved result buffer
//   choose   for each member, its newest publication is proposed and, if it is still the newest
//            when looked at again, confirmed
//   reduce   chunks of the mean are claimed and written to the buffer (board/reduction.h)
//   publish  the record's done word gets the buffer (results.h)
// No part waits for the rank that performed the one before.
//
// Invariants
// 1. The attempt of a record never goes back: a round starts once, by a swap of the attempt word.
//      check: retry                                   test: AnAttemptNeverGoesBack
// 2. A further attempt at the same round gets another buffer.
//      check: retry                                   test: AFurtherAttemptHasAnotherBuffer
// 3. Which publication a round uses of a member is decided once: confirmed and absent stay.
//      by construction: choose                        test: GroupExplorer
// 4. Rounds of groups that span machines are run by the agents alone (machine_rounds.h).
//      by construction: AgentRunner::advance          test: GroupSums on machines
#pragma once

#include <vector>

#include "group/publications.h"

namespace syncopate::group {

class Rounds {
 public:
  using Outcome = board::Reduction::Outcome;

  Rounds(const Memory& memory, const Shape& shape, const Participants& participants,
         const Window& window, const Publications& publications, Results& results,
         const board::Roster& roster, board::Platform& platform);

  AttemptWord attempt(const LocalGroup& where) const {
    return AttemptWord::unpack(memory_.record(where).attempt.load());
  }
  /// Starts the round; false if another rank started it, or no buffer is free.
  bool start(const LocalGroup& where);
  /// Decides which publication of a member the round of a step uses. Returns false if the member
  /// has been through it.
  bool choose(RoundNumber step, int rank);
  /// What was decided.
  MemberWord choice(RoundNumber step, int rank) const {
    return MemberWord::unpack(memory_.member_word(step, rank).load());
  }
  /// Does what can be done, and publishes what is complete. `pending`: others hold chunks of it.
  Outcome help(const LocalGroup& where);
  /// Gives up on an attempt and starts another on a fresh buffer, if there is one.
  void retry(const LocalGroup& where, AttemptWord given_up);

  /// Since when the round is open; `now` if it was not seen so before.
  Time open_since(const LocalGroup& where, Time now) const {
    return memory_.record(where).opened.since(where.step, now);
  }
  /// News of the round: its start, its end, a publication of a member.
  board::Event& event(const LocalGroup& where) const { return memory_.record(where).event; }
  void signal(const LocalGroup& where) const { event(where).signal(platform_); }
  void signal_helpers(const LocalGroup& where, int count) const {
    event(where).signal(platform_, count);
  }
  /// News for all who wait for a round.
  void signal_all() const;

 private:
  const Memory& memory_;
  const Shape& shape_;
  const Participants& participants_;
  const Window& window_;
  const Publications& publications_;
  Results& results_;
  const board::Roster& roster_;
  board::Platform& platform_;
  std::vector<board::Term> terms_;
  std::vector<std::uint64_t> contributors_;
  std::vector<std::uint64_t> nobody_;
};

}  // namespace syncopate::group
