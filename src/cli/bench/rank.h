// One rank of our side of a benchmark: the hidden command that `syncopate bench` starts as ranks.
#pragma once

#include <string>

namespace syncopate::cli::bench {

inline constexpr const char* kRankCommand = "bench-rank";

/// Does the work that is given as JSON; rank 0 prints one object for each size.
void run_rank(const std::string& work);

}  // namespace syncopate::cli::bench
