// The options of a group average: completed, and checked before anything starts.
#pragma once

#include "syncopate/group_average.h"

namespace syncopate::group {

/// The options with every default filled in for a world of `ranks`.
GroupOptions complete(GroupOptions options, int ranks);

/// Throws Error(invalid_argument) that says what was wrong and what is allowed. `together` is the
/// most ranks that any machine has.
void check(const GroupOptions& options, int ranks, int together);
/// Before the machines are known: all ranks on one, if one can hold them.
void check(const GroupOptions& options, int ranks);

}  // namespace syncopate::group
