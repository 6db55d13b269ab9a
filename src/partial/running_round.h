// The round that runs now. Its life, every step of which any rank may perform:
//   start    the attempt word goes from round t − 1 to round t, with a free result buffer
//   decide   every rank's word goes from decided t − 1 to decided t (contributions.h)
//   reduce   chunks of the buffer are claimed and written (board/reduction.h)
//   publish  the ring entry of t gets the buffer, and the counter of rounds follows (results.h)
// No step waits for the rank that performed the one before.
//
// Invariants
// 1. A round starts once, by a swap of the attempt word, when the one before it is published. After
//    the last nothing starts. The word never goes back.
//      check: start, catch_up_to (they compare before they swap)
//      test: TheAttemptWordNeverGoesBack
// 2. No round starts before every rank that follows has seen the round `window` before it.
//      check: start (Window::holds)                       test: NoRoundStartsBeyondTheWindow
// 3. No attempt writes into a buffer that a rank may still read, or a helper still write into
//    (attempts.h).
//      check: start (Results::holds_nothing)              test: ABufferInUseIsNotReused
#pragma once

#include "partial/attempts.h"
#include "partial/contributions.h"
#include "partial/results.h"

namespace syncopate::partial {

class RunningRound {
 public:
  using Outcome = board::Reduction::Outcome;

  RunningRound(const Memory& memory, const Shape& shape, Attempts& attempts, Window& window,
               Results& results, Contributions& contributions);

  AttemptWord attempt() const { return attempts_.current(); }
  /// Starts `round`; false if another rank started it, or no buffer is free.
  bool start(RoundNumber round, bool last);
  /// Does what can be done, and publishes what is complete. `pending`: others hold chunks of it.
  Outcome help();
  /// Gives up on the running attempt and starts another on a fresh buffer, if there is one.
  void retry(AttemptWord given_up);
  /// Lets the others know that rounds up to `round` are over, of which each rank has a result of
  /// its own.
  void catch_up_to(RoundNumber round);

  /// Asks for what the next round needs, for a rank that expects to run it.
  void prefetch_next(int rank) const { contributions_.prefetch_again(rank); }

 private:
  const Memory& memory_;
  const Shape& shape_;
  Attempts& attempts_;
  Window& window_;
  Results& results_;
  Contributions& contributions_;
};

}  // namespace syncopate::partial
