// Whom a rank waits for, in the words of its error.
#pragma once

#include <string>

#include "partial/board.h"

namespace syncopate::partial {

/// "rank 3 (pid 4711, stopped), rank 5 (…)": the ranks of this machine that `guilty` points at, but
/// for this one.
template <typename Guilty>
std::string names_of(const board::Roster& roster, const Guilty& guilty) {
  std::string names;
  for (int rank = 0; rank < roster.local_size(); ++rank) {
    if (rank == roster.local_rank() || !guilty(rank)) continue;
    names += (names.empty() ? "" : ", ") + roster.describe(rank);
  }
  return names;
}

/// The ranks that hold chunks of `round`, if it runs; empty if none does.
inline std::string chunk_holders(const Board& board, const board::Roster& roster,
                                 RoundNumber round) {
  const AttemptWord attempt = board.attempts.current();
  if (attempt.round < round) return "";
  return names_of(
      roster, [&](int rank) { return board.results.buffers().holds_chunk(attempt.buffer, rank); });
}

}  // namespace syncopate::partial
