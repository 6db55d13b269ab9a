// A machine's own sum, in a round that spans machines. The agent opens it when it has taken the
// deposits; ranks that wait make it with the agent, in a buffer called the stage. The agent goes on
// with the first chunks while the others are made.
//
// Invariants (test: tests/partial/machine_rounds_test.cpp)
// 1. Only the agent opens a stage, for one round after the other, and one is always free: there is
//    one more than ranks that could sit on one.
//      check: open                 test: OpensARoundThoughARankGivesUpOnTheOneBefore
#pragma once

#include "partial/attempts.h"
#include "partial/results.h"

namespace syncopate::partial {

class Stage {
 public:
  using Outcome = board::Reduction::Outcome;

  Stage(const Memory& memory, const Shape& shape, Attempts& attempts, Results& results,
        Contributions& contributions)
      : memory_(memory),
        shape_(shape),
        attempts_(attempts),
        results_(results),
        contributions_(contributions) {}

  AttemptWord attempt() const { return attempts_.current(); }
  /// Lets the ranks sum up what was taken for `round`, divided by `divisor`.
  void open(RoundNumber round, double divisor);
  /// Sums up what can be summed up. `pending`: others hold chunks of it.
  Outcome help();
  /// The same for some chunks of an attempt; `over` if there is another attempt.
  Outcome help(AttemptWord attempt, int begin, int end);
  /// Gives up on an attempt and starts another in another buffer, if there is one.
  void retry(AttemptWord given_up);
  void* values(AttemptWord attempt) const { return results_.buffers().values(attempt.buffer); }

 private:
  board::ReductionInput input(AttemptWord attempt) const;
  int free_buffer(int avoid) const;

  const Memory& memory_;
  const Shape& shape_;
  Attempts& attempts_;
  Results& results_;
  Contributions& contributions_;
};

}  // namespace syncopate::partial
