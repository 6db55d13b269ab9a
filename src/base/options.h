// Checks the options of collectives before anything starts, and puts them into words that all
// ranks must agree on.
#pragma once

#include <cstddef>
#include <string>

#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::base {

/// Throw Error(invalid_argument) that says what was wrong and what is allowed.
void check_elements(std::size_t elements);
/// A buffer has `given` elements and is, say, "to deposit".
void check_buffer(const char* purpose, const void* values, std::size_t given, std::size_t elements);
/// Of a deposit, or of a sum of many: see kLargestWeight.
void check_weight(double weight, double largest);
void check(DataType type);
void check(const PartialOptions& options, int ranks);
/// But for what they need of a board: see group/options.h.
void check_values(const GroupOptions& options, int ranks);

/// Everything that all ranks must give alike, in words.
std::string describe(std::size_t elements, DataType type, const PartialOptions& options);
std::string describe(std::size_t elements, DataType type, const GroupOptions& options);

inline constexpr int kLargestWindow = 250;
/// Weights in between (and 0) neither overflow nor vanish, whatever they are multiplied with and
/// divided by: not in float32, and not the sum of as many as a run can make.
inline constexpr double kSmallestWeight = 1e-12;
inline constexpr double kLargestWeight = 1e12;
inline constexpr double kLargestTotalWeight = 1e24;

}  // namespace syncopate::base
