// The board of a partial allreduce as the agent of its machine sees it, in a world of several.
// Here a round goes: the agent takes the deposits of its ranks; opens the round, so that whoever
// waits can help with this machine's own sum, in a buffer called the stage; reduces the stages of
// all machines into a result; and publishes that. Where a single rank contributes, its deposit is
// the sum, and the result can take its place. Nobody else starts or publishes rounds, so results
// need no second attempts. If the agent's process dies, its machine is lost.
#pragma once

#include <cstdint>
#include <vector>

#include "board/partial_board.h"

namespace syncopate::board {

class MachineBoard : public PartialBoard {
 public:
  MachineBoard(std::byte* memory, const PartialShape& shape, Roster& roster, Host& host)
      : PartialBoard(memory, shape, roster, host) {}

  /// What this machine adds to a round. Ranks are counted within the machine.
  struct Share {
    ResultHeader header;
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
    bool spare = false;  ///< Nobody else reads them any more: they may be written over.
  };
  /// The values of the only rank that contributes, if there is one and they count once.
  OnlyShare only_share(RoundNumber round);
  /// Sums up what was taken, divided by `divisor`, without the help of the ranks.
  void sum_up(RoundNumber round, double divisor, void* into);
  /// Lets the ranks sum up what was taken, divided by `divisor`.
  void open(RoundNumber round, double divisor);
  /// Sums chunks up, or makes sure that others have; `over` if there is another attempt.
  Reduction::Outcome help(AttemptWord attempt, int begin, int end);
  void* staged(AttemptWord attempt) const { return reduction_.values(attempt.buffer); }

  /// Where the result goes. The same until it is published.
  int result_buffer();
  void* result() { return reduction_.values(result_buffer()); }
  /// Makes what is in the place of `share`, a spare one, the result: the two exchange their memory.
  void adopt(const OnlyShare& share);
  struct Said {
    ResultHeader header;
    std::vector<std::uint64_t> contributors;  ///< By their numbers in the world.
    std::vector<std::uint64_t> reporters;
  };
  void publish(RoundNumber round, const Said& said);

 private:
  int result_ = -1;
};

}  // namespace syncopate::board
