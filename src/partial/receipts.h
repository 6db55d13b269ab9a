// What a round tells this rank about itself: who contributed, and how long the rank waited for
// whom.
#pragma once

#include "agent/handle.h"
#include "partial/results.h"
#include "partial/starter.h"
#include "syncopate/receipt.h"

namespace syncopate::partial {

class Receipts {
 public:
  /// `agent` knows who has died on other machines, if there are any.
  Receipts(const board::Roster& roster, const Results& results, const Starter& starter,
           agent::AgentHandle agent)
      : roster_(roster), results_(results), starter_(starter), agent_(agent) {}

  /// Of the round awaited last; round 0: this rank did not have to wait.
  void note_wait(RoundNumber round, Duration waited) {
    awaited_round_ = round;
    waited_ = waited;
  }
  /// Of a round that is published, or settled, and not released.
  Receipt make(RoundNumber round) const;

 private:
  const board::Roster& roster_;
  const Results& results_;
  const Starter& starter_;
  agent::AgentHandle agent_;
  RoundNumber awaited_round_ = 0;  ///< The round that `waited_` is about.
  Duration waited_{0};
};

}  // namespace syncopate::partial
