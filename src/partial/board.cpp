#include "partial/board.h"

namespace syncopate::partial {

Board::Board(std::byte* memory_of_board, const Shape& shape_of_board, board::Roster& roster,
             board::Platform& platform)
    : shape(shape_of_board),
      memory(memory_of_board, shape),
      participants(memory, shape, settled, roster, platform),
      results(memory, shape, settled, participants, roster, platform),
      contributions(memory, shape),
      running(memory, shape, results, contributions, platform),
      deposits(memory, shape, settled, participants, results),
      platform_(platform) {}

void Board::begin_after(RoundNumber last) {
  memory.control->attempt.store_relaxed(AttemptWord{.round = last}.pack());
  for (int rank = 0; rank < shape.ranks; ++rank) {
    memory.words[rank].store_relaxed(DecideWord{.decided = last}.pack());
    memory.ranks[rank].seen.store_relaxed(last);
  }
  memory.news->event.begin_with(last);
}

}  // namespace syncopate::partial
