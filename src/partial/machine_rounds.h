// The rounds of a partial allreduce as the agent of a machine runs them, in a world of several.
// Here a round goes: the agent takes the deposits of its ranks; opens the stage (stage.h), where
// the ranks help with this machine's own sum; reduces the stages of all machines into a result; and
// publishes that. Where a single rank contributes, its deposit is the sum, and the result can take
// its place.
//
// Invariants (tests: tests/partial/machine_rounds_test.cpp)
// 1. Only the agent publishes rounds, one after the other, so that results need no second attempts.
//    If the agent's process dies, its machine is lost.
//      check: publish
//      test: RoundsArePublishedInOrder
// 2. No round is taken before every rank that follows has seen the round `window` before it.
//      check: take
//      test: NoRoundIsTakenBeyondTheWindow
// 3. A deposit is written over only if its rank does not read it any more (OnlyShare::spare).
//      check: adopt
//      test: WhatIsSpareIsNotReadByARankThatAddsToIt, WhatARankKeepsIsNotSpare
#pragma once

#include <cstdint>
#include <vector>

#include "partial/board.h"

namespace syncopate::partial {

class MachineRounds {
 public:
  using Outcome = RunningRound::Outcome;

  MachineRounds(std::byte* memory, const Shape& shape, board::Roster& roster,
                board::Platform& platform)
      : board_(memory, shape, roster, platform), platform_(platform) {}

  Board& board() { return board_; }
  const Board& board() const { return board_; }

  /// What this machine adds to a round. Ranks are counted within the machine.
  struct Share {
    board::ResultHeader header;
    Time newest_at = 0;  ///< When its last contributor came.
    std::vector<std::uint64_t> contributors;
    std::vector<std::uint64_t> reporters;
    // What ranks that have stopped had dropped since their last deposit: for the last round.
    std::uint32_t parting_drops = 0;
    std::vector<std::uint64_t> parting_reporters;
  };
  /// Decides about every rank: what is on the board from now on is for a later round.
  void take(RoundNumber round, Share& share);
  struct OnlyShare {
    void* values = nullptr;
    int rank = -1;       ///< Whose they are, …
    int slot = -1;       ///< … and where it wrote them.
    bool spare = false;  ///< No rank reads them any more: they may be written over.
  };
  /// The values of the only rank that contributes, if there is one and they count once.
  OnlyShare only_share(RoundNumber round);
  /// Sums up what was taken, divided by `divisor`, without the help of the ranks.
  void sum_up(RoundNumber round, double divisor, void* into);

  /// Where the result goes. The same until it is published.
  void* result() { return board_.results.buffers().values(result_buffer()); }
  /// Makes what is in the place of `share`, a spare one, the result: the two exchange their memory.
  void adopt(const OnlyShare& share);
  struct Said {
    board::ResultHeader header;
    std::vector<std::uint64_t> contributors;  ///< By their numbers in the world.
    std::vector<std::uint64_t> reporters;
  };
  void publish(RoundNumber round, const Said& said);

 private:
  int result_buffer();

  Board board_;
  board::Platform& platform_;
  int result_ = kNoBuffer;
};

}  // namespace syncopate::partial
