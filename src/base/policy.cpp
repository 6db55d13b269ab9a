// Policies as text, both ways: what `parse` reads, `to_string` writes.
#include "syncopate/policy.h"

#include <cmath>
#include <optional>

#include "base/durations.h"
#include "syncopate/error.h"

namespace syncopate {
namespace {

using namespace std::chrono_literals;
using base::duration;
using base::number;
using base::shortest;

[[noreturn]] void refuse(const char* what, std::string_view text, const char* allowed) {
  throw Error(ErrorCode::invalid_argument, std::string("\"").append(text) + "\" is not a " + what,
              std::string("Use ") + allowed);
}

/// The part of `text` after `prefix`, if it starts with it.
std::optional<std::string_view> after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

}  // namespace

Trigger Trigger::parse(std::string_view text) {
  if (text == "all") return all();
  if (text == "first") return first();
  if (text == "majority") return majority();
  if (const auto seed = after("majority:", text)) {
    if (const auto value = number<std::uint64_t>(*seed)) return majority(*value);
  }
  if (const auto ranks = after("count:", text)) {
    if (const auto value = number<int>(*ranks)) return syncopate::count(*value);
  }
  refuse("trigger", text, "all, first, majority, majority:SEED or count:K");
}

std::string to_string(const Trigger& trigger) {
  switch (trigger.kind) {
    case Trigger::Kind::all:
      return "all";
    case Trigger::Kind::first:
      return "first";
    case Trigger::Kind::majority:
      return "majority:" + std::to_string(trigger.seed);
    case Trigger::Kind::count:
      return "count:" + std::to_string(trigger.count);
  }
  return "unknown";
}

Grace Grace::parse(std::string_view text) {
  if (text == "off") return no_grace();
  if (text == "auto") return automatic_grace();
  if (const auto share = after("auto:", text)) {
    const auto value = number<double>(*share);
    if (value && std::isfinite(*value) && *value > 0) return automatic_grace(*value);
  } else if (const auto fixed = duration(text)) {
    return grace(*fixed);
  }
  refuse("grace", text, "off, auto, auto:SHARE or a duration such as 2ms or 500us");
}

std::string to_string(const Grace& grace) {
  if (grace.share > 0) return "auto:" + shortest(grace.share);
  if (grace.fixed == 0ns) return "off";
  return std::to_string(grace.fixed.count()) + "ns";
}

LatePolicy LatePolicy::parse(std::string_view text) {
  if (text == "carry") return carry();
  if (text == "drop") return drop();
  if (const auto rounds = after("drop-older-than:", text)) {
    if (const auto value = number<std::uint64_t>(*rounds)) return drop_older_than(*value);
  }
  refuse("late policy", text, "carry, drop or drop-older-than:R");
}

std::string to_string(const LatePolicy& policy) {
  if (policy.younger_than == LatePolicy::forever) return "carry";
  if (policy.younger_than == 1) return "drop";
  return "drop-older-than:" + std::to_string(policy.younger_than);
}

const char* to_string(Scale scale) {
  switch (scale) {
    case Scale::none:
      return "none";
    case Scale::ranks:
      return "ranks";
    case Scale::contributors:
      return "contributors";
    case Scale::weight:
      return "weight";
  }
  return "unknown";
}

}  // namespace syncopate
