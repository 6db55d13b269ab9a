// Checks the options of collectives before anything starts, and puts them into words
// that all ranks must agree on.
#pragma once

#include <cstddef>
#include <string>

#include "syncopate/group_average.h"
#include "syncopate/partial_allreduce.h"

namespace syncopate::detail {

/// Throw Error(invalid_argument) that says what was wrong and what is allowed.
void check_elements(std::size_t elements);
/// A buffer has `given` elements and is, say, "to deposit".
void check_buffer(const char* purpose, const void* values, std::size_t given, std::size_t elements);
void check(const PartialOptions& options, int ranks);
/// `together` is the most ranks that any machine has.
void check(const GroupOptions& options, int ranks, int together);
/// Before the machines are known: all ranks on one, if one can hold them.
void check(const GroupOptions& options, int ranks);

/// Everything that all ranks must give alike, in words.
std::string describe(std::size_t elements, DataType type, const PartialOptions& options);
std::string describe(std::size_t elements, DataType type, const GroupOptions& options);

inline constexpr int kLargestWindow = 250;

}  // namespace syncopate::detail
