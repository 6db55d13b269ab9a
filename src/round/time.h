// Times as the agreements between machines are told them: they have no clock of their own.
#pragma once

#include <cstdint>
#include <limits>

namespace syncopate::round {

using Time = std::int64_t;  ///< Nanoseconds; only differences matter.
inline constexpr Time kNever = std::numeric_limits<Time>::max();

/// From here on a rank that waits wants to know for whom.
inline constexpr Time kCurious = 200'000'000;
/// How long those that were asked have for their answers before others are told of them.
inline constexpr Time kTimeToAnswer = 50'000'000;
/// What is said again in a long wait is said when it has lasted so many times longer.
inline constexpr Time kLonger = 8;

}  // namespace syncopate::round
