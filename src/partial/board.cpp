#include "partial/board.h"

namespace syncopate::partial {

Board::Board(std::byte* memory_of_board, const Shape& shape_of_board, board::Roster& roster,
             board::Platform& platform, board::Attendant* agent)
    : shape(shape_of_board),
      memory(memory_of_board, shape),
      notifier(memory.news->event, platform, agent),
      participants(memory, shape, settled, roster, notifier),
      window(memory, shape, settled, participants, notifier),
      results(memory, shape, settled, participants, window, roster, platform),
      contributions(memory, shape),
      attempts(memory, platform),
      running(memory, shape, attempts, window, results, contributions),
      stage(memory, shape, attempts, results, contributions),
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
