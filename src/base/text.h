// Text, both ways: the one reader of numbers, and the one way to name ranks. What does not read as
// a number is no value; the caller knows what the text was meant to be and says so in the error.
// Readers are not the C library's, which heed the locale: ranks would disagree with each other.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "syncopate/rank_set.h"

namespace syncopate::base {

template <typename Number>
struct LeadingNumber {
  Number value;
  std::string_view rest;  ///< Of the text, behind the number.
};

/// The number that a text begins with.
template <typename Number>
std::optional<LeadingNumber<Number>> leading_number(std::string_view text, int base = 10) {
  Number value{};
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>) {
    read = std::from_chars(text.data(), end, value);
  } else {
    read = std::from_chars(text.data(), end, value, base);
  }
  if (read.ec != std::errc()) return std::nullopt;
  return LeadingNumber<Number>{value, text.substr(read.ptr - text.data())};
}

/// The number that all of a text is.
template <typename Number>
std::optional<Number> number(std::string_view text) {
  const auto read = leading_number<Number>(text);
  if (!read || !read->rest.empty()) return std::nullopt;
  return read->value;
}

/// The same, if it lies between these, ends included.
template <typename Number>
std::optional<Number> number(std::string_view text, Number low, Number high) {
  const auto value = number<Number>(text);
  return value && *value >= low && *value <= high ? value : std::nullopt;
}

/// "rank 3", "ranks 1 and 3", "ranks 0, 1 and 3"; "no rank".
std::string names_of(const RankSet& ranks);
std::string names_of(const std::vector<int>& ranks);

}  // namespace syncopate::base
