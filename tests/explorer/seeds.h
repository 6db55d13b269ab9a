// Where the seeds of an explorer come from: those that failed once and are kept in the file
// `seeds`, the fixed ones, and fresh ones that differ with every run. A fresh seed that fails is
// written to the file, so that every later run plays it first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syncopate::testing {

/// Of `schedules` so many are played with fresh seeds: one in five.
inline std::uint64_t fresh_share(std::uint64_t schedules) { return schedules / 5; }

/// Where fresh seeds begin in this run; the same for a whole process, and printed when first asked
/// for.
std::uint64_t first_fresh_seed();

/// What the file has for `explorer`: a seed or the name of a schedule each.
std::vector<std::string> kept_seeds(const std::string& explorer);

/// Adds `seed` to the file, unless it is there. Without a file that can be written it only says so.
void keep_seed(const std::string& explorer, const std::string& seed);

}  // namespace syncopate::testing
