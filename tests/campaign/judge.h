// Judges one segment of a life by what the ranks have written down: every deposit in exactly one
// round, one result per round, no round skipped, true receipts, and only the dead counted as dead.
#pragma once

#include <cstdint>
#include <string>

#include "campaign/book.h"
#include "campaign/life.h"

namespace syncopate::campaign {

/// Ranks by how they have ended, a bit each.
struct Endings {
  std::uint32_t killed = 0;  ///< Or never there: they count as dead.
  std::uint32_t ended = 0;   ///< In an orderly way.
};

/// What is wrong, in sentences; empty if nothing is.
std::string judge(const Life& life, int segment, const Book& book, const Endings& endings);

}  // namespace syncopate::campaign
