#include "strategy/specification.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/durations.h"
#include "base/options.h"
#include "syncopate/error.h"

namespace syncopate::strategy {
namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(':', begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

}  // namespace

std::string form(const StrategyDescription& description, Keys keys) {
  std::string text = description.name;
  for (const auto& parameter : description.parameters) {
    if (!parameter.by_place && keys == Keys::left_out) continue;
    const std::string part = parameter.by_place ? parameter.name : parameter.name + "=…";
    text += parameter.standard.empty() ? ":" + part : "[:" + part + "]";
  }
  return text;
}

Values::Values(const StrategyDescription& description, std::string_view text)
    : strategy_(description.name) {
  const auto complain = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "the strategy '" + std::string(text) + "' " + what,
                "Write it as " + form(description));
  };
  std::size_t place = 0;
  bool first = true;
  for (const std::string& part : split(text)) {
    if (std::exchange(first, false)) continue;  // The name.
    std::string name = part.substr(0, part.find('='));
    std::string value;
    if (name.size() < part.size()) {
      value = part.substr(name.size() + 1);
    } else {
      value = std::exchange(name, "");
      const auto& parameters = description.parameters;
      while (place < parameters.size() && !parameters[place].by_place) ++place;
      if (place == parameters.size()) complain("has a value too many: '" + value + "'");
      name = parameters[place++].name;
    }
    bool known = false;
    for (const auto& parameter : description.parameters) known |= parameter.name == name;
    if (!known) complain("has no parameter '" + name + "'");
    if (value.empty()) complain("gives no value for " + name);
    if (!values_.emplace(name, value).second) complain("gives " + name + " twice");
  }
  for (const auto& parameter : description.parameters) {
    if (values_.contains(parameter.name)) continue;
    if (parameter.standard.empty()) complain("needs " + parameter.name);
    values_[parameter.name] = parameter.standard;
  }
}

std::string Values::spelled_out(const StrategyDescription& description) const {
  std::string all = description.name;
  for (const auto& [name, standard, meaning, by_place] : description.parameters) {
    all += by_place ? ":" + text(name) : ":" + name + "=" + text(name);
  }
  return all;
}

void Values::refuse(const std::string& name, const std::string& allowed) const {
  throw Error(ErrorCode::invalid_argument, strategy_ + ": " + name + " is '" + text(name) + "'",
              "Use " + allowed);
}

int Values::whole(const std::string& name, int low, int high) const {
  const auto value = base::number<int>(text(name));
  if (!value || *value < low || *value > high) {
    refuse(name, low == high ? "the number " + std::to_string(low)
                             : "a whole number from " + std::to_string(low) + " to " +
                                   std::to_string(high));
  }
  return *value;
}

int Values::whole_or_auto(const std::string& name, int low, int high) const {
  return text(name) == "auto" ? 0 : whole(name, low, high);
}

double Values::number(const std::string& name, double low, double high) const {
  const auto value = base::number<double>(text(name));
  if (!value || !(*value >= low && *value <= high)) {
    refuse(name, "a number from " + base::shortest(low) + " to " + base::shortest(high));
  }
  return *value;
}

std::size_t Values::choice(const std::string& name,
                           std::initializer_list<const char*> names) const {
  const auto* const found = std::ranges::find(names, text(name));
  if (found != names.end()) return std::size_t(found - names.begin());
  std::string allowed;
  for (const char* one : names) allowed += (allowed.empty() ? "" : " or ") + std::string(one);
  refuse(name, allowed);
}

Grace Values::grace(const std::string& name) const {
  const std::string& value = text(name);
  try {
    // A colon would end the parameter, so a share stands for itself.
    const Grace parsed = Grace::parse(base::number<double>(value) ? "auto:" + value : value);
    base::check(PartialOptions{.grace = parsed}, 1);
    return parsed;
  } catch (const Error&) {
    refuse(
        name,
        "off, auto, a share of the median step time such as 0.2 (10 at most), or a duration such "
        "as 2ms (an hour at most)");
  }
}

std::optional<Duration> Values::duration(const std::string& name) const {
  const std::string& value = text(name);
  if (value == "auto") return std::nullopt;
  if (const auto time = base::duration(value); time && time->count() > 0) return time;
  refuse(name, "auto or a duration such as 20ms");
}

}  // namespace syncopate::strategy
