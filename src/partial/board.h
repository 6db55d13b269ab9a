// A partial allreduce on the board, as one rank sees it: the parts beside this file, put together.
// When rounds start, and who runs them, is decided above it (starter.h and the three runners).
#pragma once

#include "partial/attempts.h"
#include "partial/contributions.h"
#include "partial/deposits.h"
#include "partial/memory.h"
#include "partial/notifier.h"
#include "partial/participants.h"
#include "partial/results.h"
#include "partial/running_round.h"
#include "partial/settled.h"
#include "partial/shape.h"
#include "partial/stage.h"
#include "partial/window.h"

namespace syncopate::partial {

class Board {
 public:
  /// `agent` is whom a rank tells what is new, where an agent runs the rounds.
  Board(std::byte* memory, const Shape& shape, board::Roster& roster, board::Platform& platform,
        board::Attendant* agent = nullptr);
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
  const Notifier notifier;
  Participants participants;
  Window window;
  Results results;
  Contributions contributions;
  Attempts attempts;
  RunningRound running;  ///< Where ranks run the rounds.
  Stage stage;           ///< Where an agent does.
  Deposits deposits;

 private:
  board::Platform& platform_;
};

}  // namespace syncopate::partial
