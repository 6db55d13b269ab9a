// One rank of our side of a benchmark: the hidden command that `syncopate bench` starts as ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/peers/workload.h"
#include "syncopate/world.h"

namespace syncopate::cli::bench {

inline constexpr const char* kRankCommand = "bench-rank";

/// Does the work that is given as JSON; rank 0 prints one object for each size.
void run_rank(const std::string& work);

/// Whether `operation` can be measured by ranks that a launcher has started.
bool runs_anywhere(const std::string& operation);
/// Does such work as a rank of `world`; the rows are rank 0's.
std::vector<nlohmann::json> measure_here(const World& world, const peers::Workload& work);

}  // namespace syncopate::cli::bench
