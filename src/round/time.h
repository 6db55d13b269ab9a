// Times as the agreements between machines are told them: they have no clock of their own.
#pragma once

#include <cstdint>
#include <limits>

namespace syncopate::round {

using Time = std::int64_t;  ///< Nanoseconds; only differences matter.
inline constexpr Time kNever = std::numeric_limits<Time>::max();

/// From here on whoever waits wants to know for whom.
inline constexpr Time kCurious = 200'000'000;

}  // namespace syncopate::round
