#include "group/board.h"

namespace syncopate::group {

Board::Board(std::byte* memory_of_board, const Shape& shape_of_board, const board::Roster& roster,
             board::Platform& platform)
    : shape(shape_of_board),
      memory(memory_of_board, shape),
      participants(memory, shape, roster),
      window(memory, shape, participants, platform),
      results(memory_of_board, memory, shape, participants, window, roster),
      publications(memory, shape, participants, results),
      rounds(memory, shape, participants, window, publications, results, roster, platform),
      platform_(platform) {}

void Board::leave() {
  participants.leave();
  rounds.signal_all();
  window.event().signal(platform_);
}

}  // namespace syncopate::group
