#include "cli/console/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "syncopate/error.h"

namespace syncopate::cli {

namespace {

template <typename Number>
std::optional<Number> read(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// As an Error does it.
std::string spelt_out(const std::string& text) {
  return Error(ErrorCode::invalid_argument, text, "").what_happened();
}

}  // namespace

UsageError::UsageError(const std::string& sentence) : std::runtime_error(spelt_out(sentence)) {}

void check_text(const std::string& option, const std::string& text) {
  if (text.empty()) {
    throw UsageError(fmt::format("{} is empty; give it a value, or leave it out", option));
  }
  if (spelt_out(text) == text) return;
  throw UsageError(
      fmt::format("{} must be text in UTF-8 without control characters, not '{}'", option, text));
}

long whole_number(const std::string& option, const std::string& text, long low, long high) {
  const auto number = read<long>(text);
  if (number && *number >= low && *number <= high) return *number;
  throw UsageError(
      fmt::format("{} must be a whole number from {} to {}, not '{}'", option, low, high, text));
}

double seconds(const std::string& option, const std::string& text, double most, bool zero_allowed) {
  const auto number = read<double>(text);
  if (number && (*number > 0 || (zero_allowed && *number == 0)) && *number <= most) return *number;
  throw UsageError(fmt::format("{} must be a number of seconds {} and at most {:.0f}, not '{}'",
                               option, zero_allowed ? "not below 0" : "above 0", most, text));
}

}  // namespace syncopate::cli
