#include "cli/console/arguments.h"

#include <fmt/format.h>

#include "base/text.h"
#include "syncopate/error.h"

namespace syncopate::cli {

namespace {

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
  if (const auto number = base::number<long>(text, low, high)) return *number;
  throw UsageError(
      fmt::format("{} must be a whole number from {} to {}, not '{}'", option, low, high, text));
}

double seconds(const std::string& option, const std::string& text, double most, bool zero_allowed) {
  const auto number = base::number<double>(text);
  if (number && (*number > 0 || (zero_allowed && *number == 0)) && *number <= most) return *number;
  throw UsageError(fmt::format("{} must be a number of seconds {} and at most {:.0f}, not '{}'",
                               option, zero_allowed ? "not below 0" : "above 0", most, text));
}

}  // namespace syncopate::cli
