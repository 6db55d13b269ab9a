// A group average on the board, as one rank sees it: the parts beside this file, put together. When
// rounds start, and who runs them, is decided above it (starter.h and the two runners).
#pragma once

#include "group/memory.h"
#include "group/participants.h"
#include "group/publications.h"
#include "group/results.h"
#include "group/rounds.h"
#include "group/shape.h"
#include "group/window.h"

namespace syncopate::group {

class Board {
 public:
  Board(std::byte* memory, const Shape& shape, const board::Roster& roster,
        board::Platform& platform);
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  /// This rank goes: no later round counts on it.
  void leave();

  const Shape shape;
  const Memory memory;
  Participants participants;
  Window window;
  Results results;
  Publications publications;
  Rounds rounds;

 private:
  board::Platform& platform_;
};

}  // namespace syncopate::group
