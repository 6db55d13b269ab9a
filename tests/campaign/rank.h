// The process of one rank: plays its part of the life in the book, through the public API alone.
#pragma once

#include <string>

namespace syncopate::campaign {

/// Returns the exit code: 0, or 1 after a complaint, which is in the book.
int play_rank(const std::string& book);

}  // namespace syncopate::campaign
