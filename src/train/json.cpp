#include "train/json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "train/bytes.h"
#include "train/limits.h"

namespace syncopate::train {
namespace {

/// A value as it can be shown: of long ones the beginning.
std::string shown(const nlohmann::json& value) {
  constexpr std::size_t kLongest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

}  // namespace

nlohmann::json read_json(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> names;  // Of the objects around this place.
  const auto watch = [&](int depth, Event event, nlohmann::json& parsed) {
    if (depth > kDeepest) throw Damaged("it is nested too deeply");
    if (event == Event::object_start) names.emplace_back();
    if (event == Event::object_end) names.pop_back();
    if (event == Event::key && !names.back().insert(parsed.get<std::string>()).second) {
      throw Damaged(fmt::format("it has {} twice", shown(parsed)));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text.begin(), text.end(), watch);
  } catch (const nlohmann::json::parse_error& error) {
    throw Damaged(fmt::format("it is no JSON text (at byte {})", error.byte));
  } catch (const nlohmann::json::exception&) {
    throw Damaged("it has a number that is too large");
  }
}

Members::Members(const nlohmann::json& object, std::string what)
    : object_(object), what_(std::move(what)) {
  if (!object.is_object()) {
    throw Damaged(fmt::format("{} is {}, where an object is due", what_, shown(object)));
  }
}

const nlohmann::json& Members::find(const char* name) {
  asked_.insert(name);
  const auto found = object_.find(name);
  if (found == object_.end()) throw Damaged(fmt::format("{} has no \"{}\"", what_, name));
  return *found;
}

void Members::refuse(const char* name, const nlohmann::json& value, const std::string& due) const {
  throw Damaged(
      fmt::format("{} has the \"{}\" {}, where {} is due", what_, name, shown(value), due));
}

double Members::number(const char* name, double least, double most) {
  const nlohmann::json& value = find(name);
  const double number =
      value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (number >= least && number <= most) return number;
  refuse(name, value,
         most < kLargest ? fmt::format("a number from {:g} to {:g}", least, most)
         : least == 0    ? "a number that is not negative"
                         : "a number");
}

double Members::number_or_null(const char* name, double least, double most) {
  if (!find(name).is_null()) return number(name, least, most);
  return std::numeric_limits<double>::quiet_NaN();
}

std::int64_t Members::whole(const char* name, std::int64_t least, std::int64_t most) {
  const nlohmann::json& value = find(name);
  const auto due = [&] { return fmt::format("a whole number from {} to {}", least, most); };
  if (!value.is_number_integer()) refuse(name, value, due());
  constexpr auto kMost = std::uint64_t(std::numeric_limits<std::int64_t>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMost) refuse(name, value, due());
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) refuse(name, value, due());
  return number;
}

bool Members::flag(const char* name) {
  const nlohmann::json& value = find(name);
  if (!value.is_boolean()) refuse(name, value, "true or false");
  return value.get<bool>();
}

std::string Members::text(const char* name) {
  const nlohmann::json& value = find(name);
  if (!value.is_string()) refuse(name, value, "a text");
  std::string text = value.get<std::string>();
  // Sooner or later it is shown to the user.
  if (!base::is_printable(text)) refuse(name, value, "a text without control characters");
  return text;
}

const nlohmann::json& Members::list(const char* name) {
  const nlohmann::json& value = find(name);
  if (!value.is_array()) refuse(name, value, "a list");
  return value;
}

const nlohmann::json& Members::object(const char* name) {
  const nlohmann::json& value = find(name);
  if (!value.is_object()) refuse(name, value, "an object");
  return value;
}

void Members::expect_no_others() const {
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    throw Damaged(fmt::format("{} has a {}, which is not known", what_, shown(name)));
  }
}

}  // namespace syncopate::train
