// Durations as text, both ways. What does not read as one is no value; the caller knows what the
// text was meant to be and says so in the error.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "syncopate/policy.h"

namespace syncopate::base {

struct Unit {
  std::string_view suffix;
  std::int64_t nanoseconds;
};
inline constexpr std::array<Unit, 4> kUnits{
    {{"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}}};

/// A number that is not negative and its unit, such as "2ms", "0.5s" or "100us".
inline std::optional<Duration> duration(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const auto value = number<double>(text.substr(0, text.size() - unit.suffix.size()));
    const auto nanoseconds = static_cast<double>(unit.nanoseconds);
    // Up to some thirty years, so that a few of them can be added.
    if (!value || !(*value >= 0 && *value * nanoseconds < 1e18)) continue;
    return Duration(std::llround(*value * nanoseconds));
  }
  return std::nullopt;
}

/// The largest unit in which this is a whole number.
inline const Unit& unit_of(Duration duration) {
  const Unit* largest = kUnits.data();
  for (const Unit& unit : kUnits) {
    if (duration.count() % unit.nanoseconds == 0) largest = &unit;
  }
  return *largest;
}

inline std::string to_string(Duration duration) {
  const Unit& unit = unit_of(duration);
  return std::to_string(duration.count() / unit.nanoseconds) + std::string(unit.suffix);
}

/// `part` of `parts` of a duration, in an order in which no number gets too large.
inline Duration share(Duration whole, int part, int parts) {
  return whole / parts * part + whole % parts * part / parts;
}

/// As many digits as it takes to read the same number back.
inline std::string shortest(double value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.begin(), text.end(), value);
  return {text.begin(), end};
}

/// As a person says it, such as "6 s" or "0.25 s".
inline std::string in_seconds(Duration time) {
  std::array<char, 32> text{};
  const double seconds = std::chrono::duration<double>(time).count();
  std::snprintf(text.data(), text.size(), "%.3g s", seconds);
  return text.data();
}

}  // namespace syncopate::base
