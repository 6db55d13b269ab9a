// A partial allreduce on the board, as one rank sees it: the parts beside this file, put together.
// When rounds start, and who runs them, is decided above it (starter.h and the three runners).
#pragma once

#include "partial/contributions.h"
#include "partial/deposits.h"
#include "partial/memory.h"
#include "partial/participants.h"
#include "partial/results.h"
#include "partial/running_round.h"
#include "partial/shape.h"

namespace syncopate::partial {

class Board {
 public:
  Board(std::byte* memory, const Shape& shape, board::Roster& roster, board::Platform& platform);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// Makes round `last + 1` the first. For tests, before any rank uses the board.
  void begin_after(RoundNumber last);

  board::Event& event() { return memory.news->event; }
  void signal() { event().signal(platform_); }
  void signal_helpers(int count) { event().signal(platform_, count); }

  const Shape shape;
  const Memory memory;
  Settled settled;
  Participants participants;
  Results results;
  Contributions contributions;
  RunningRound running;
  Deposits deposits;

 private:
  board::Platform& platform_;
};

}  // namespace syncopate::partial
