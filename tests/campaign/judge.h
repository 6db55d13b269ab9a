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
/// Of the whole life, when it is over: a rank that was told of a lost machine was told of one whose
/// first rank was struck, by the ranks of it; and where the launcher lets ranks live (`left_alone`)
/// only those that were struck end without a word.
std::string judge_endings(const Life& life, const Book& book, std::uint32_t struck,
                          bool left_alone);

std::string judge(const Life& life, int segment, const Book& book, const Endings& endings);

}  // namespace syncopate::campaign
