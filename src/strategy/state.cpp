#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "syncopate/error.h"
#include "syncopate/strategy.h"

namespace syncopate {
namespace {

constexpr const char* kWhatToDo =
    "Load what the same strategy has saved, with the same parameters and for the same model";

[[noreturn]] void refuse(const std::string& what_is_wrong) {
  throw Error(ErrorCode::invalid_argument, what_is_wrong, kWhatToDo);
}

std::string entry(const std::string& name) {
  return "the entry '" + name + "' of the strategy's state ";
}

std::string text(double value) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.9g", value);
  return digits.data();
}

std::string text(StateRange range) { return text(range.least) + " to " + text(range.most); }

bool within(double value, StateRange range) { return value >= range.least && value <= range.most; }

const char* to_string(Sharing sharing) {
  return sharing == Sharing::same ? "same" : sharing == Sharing::own ? "own" : "pending";
}

template <typename Value>
constexpr const char* kKind = "a number";
template <>
constexpr const char* kKind<std::vector<float>> = "a vector";

template <typename Value>
const Value& get(const StrategyState& state, const std::string& name) {
  const auto found = state.entries.find(name);
  const Value* value =
      found == state.entries.end() ? nullptr : std::get_if<Value>(&found->second.value);
  if (value == nullptr) refuse(entry(name) + "is not there, or not " + kKind<Value>);
  return *value;
}

/// The sum of two entries that are pending.
std::variant<double, std::vector<float>> sum(const std::string& name, const StateEntry& one,
                                             const StateEntry& other) {
  const auto* mine = std::get_if<std::vector<float>>(&one.value);
  const auto* theirs = std::get_if<std::vector<float>>(&other.value);
  if ((mine == nullptr) != (theirs == nullptr) || one.sharing != other.sharing ||
      (mine != nullptr && mine->size() != theirs->size())) {
    refuse(entry(name) + "is of another kind or length on another rank");
  }
  if (mine == nullptr) return std::get<double>(one.value) + std::get<double>(other.value);
  std::vector<float> result = *mine;
  std::ranges::transform(result, *theirs, result.begin(), std::plus());
  return result;
}

}  // namespace

double StrategyState::number(const std::string& name) const { return get<double>(*this, name); }

const std::vector<float>& StrategyState::vector(const std::string& name) const {
  return get<std::vector<float>>(*this, name);
}

void StrategyState::make_stand_in() {
  std::erase_if(entries, [](const auto& one) { return one.second.sharing != Sharing::same; });
  stand_in = true;
}

void StrategyState::inherit(const StrategyState& other) {
  StrategyState heir = *this;
  for (const auto& [name, theirs] : other.entries) {
    const auto mine = heir.entries.find(name);
    if (theirs.sharing == Sharing::own) continue;
    if (theirs.sharing == Sharing::same) {
      if (mine != heir.entries.end() && mine->second == theirs) continue;
      refuse(entry(name) + "is not the same on every rank, as it should be");
    }
    if (mine == heir.entries.end()) {
      heir.entries.emplace(name, theirs);
    } else {
      mine->second.value = sum(name, mine->second, theirs);
    }
  }
  for (const auto& [name, mine] : heir.entries) {
    if (mine.sharing == Sharing::same && !other.has(name)) {
      refuse(entry(name) + "is missing on another rank");
    }
  }
  *this = std::move(heir);
}

bool StrategyState::finite() const {
  return std::ranges::all_of(entries, [](const auto& one) {
    if (const auto* number = std::get_if<double>(&one.second.value)) return std::isfinite(*number);
    return one.second.sharing != Sharing::pending ||
           std::ranges::all_of(std::get<std::vector<float>>(one.second.value),
                               [](float value) { return std::isfinite(value); });
  });
}

void StateFields::keep(const char* name, StateEntry entry) {
  if (saved_->entries.emplace(name, std::move(entry)).second) return;
  throw std::logic_error(std::string("a strategy describes its entry '") + name + "' twice");
}

template <typename Value>
const Value* StateFields::find(const char* name, Sharing sharing) {
  named_.insert(name);
  const auto found = read_.entries.find(name);
  if (found == read_.entries.end()) {
    if (read_.stand_in && sharing != Sharing::same) return nullptr;
    refuse(entry(name) + "is missing");
  }
  const Value* value = std::get_if<Value>(&found->second.value);
  if (value == nullptr) refuse(entry(name) + "is not " + kKind<Value> + ", which is due");
  if (found->second.sharing != sharing) {
    refuse(entry(name) + "is kept as '" + to_string(found->second.sharing) + "', where '" +
           to_string(sharing) + "' is due");
  }
  return value;
}

std::uint64_t StateFields::count(const char* name, Sharing sharing, std::uint64_t& value,
                                 std::uint64_t most) {
  if (saving()) {
    keep(name, {sharing, double(value)});
    return value;
  }
  const auto* number = find<double>(name, sharing);
  if (number == nullptr) return value;
  const StateRange range{0, double(std::min(most, kMost))};
  if (!within(*number, range) || *number != std::floor(*number)) {
    refuse(entry(name) + "is " + text(*number) + ", where a whole number from " + text(range) +
           " is due");
  }
  if (loading()) value = std::uint64_t(*number);
  return std::uint64_t(*number);
}

void StateFields::number(const char* name, Sharing sharing, double& value, StateRange range) {
  if (saving()) return keep(name, {sharing, value});
  const auto* number = find<double>(name, sharing);
  if (number == nullptr) return;
  if (!within(*number, range)) {
    refuse(entry(name) + "is " + text(*number) + ", where " + text(range) + " is due");
  }
  if (loading()) value = *number;
}

const std::vector<float>* StateFields::find_vector(const char* name, Sharing sharing,
                                                   StateRange range) {
  const auto* values = find<std::vector<float>>(name, sharing);
  if (values == nullptr) return nullptr;
  const auto wrong =
      std::ranges::find_if_not(*values, [&](float value) { return within(value, range); });
  if (wrong != values->end()) {
    refuse(entry(name) + "has " + text(*wrong) + " in it, where " + text(range) + " is due");
  }
  return values;
}

void StateFields::vector(const char* name, Sharing sharing, std::span<float> values,
                         StateRange range) {
  if (saving()) return keep(name, {sharing, std::vector<float>(values.begin(), values.end())});
  const auto* kept = find_vector(name, sharing, range);
  if (kept == nullptr) return;
  if (kept->size() != values.size()) {
    refuse(entry(name) + "has " + std::to_string(kept->size()) + " values, where " +
           std::to_string(values.size()) + " are due");
  }
  if (loading()) std::ranges::copy(*kept, values.begin());
}

void StateFields::by_rank(const char* name, std::span<float> values, StateRange range) {
  if (saving()) {
    return keep(name, {Sharing::same, std::vector<float>(values.begin(), values.end())});
  }
  const auto* kept = find_vector(name, Sharing::same, range);
  if (kept->empty()) refuse(entry(name) + "is empty, where a value for each rank is due");
  if (loading() && kept->size() == values.size()) std::ranges::copy(*kept, values.begin());
}

bool StateFields::has(const char* name, bool now) const { return saving() ? now : read_.has(name); }

void StateFields::expect_no_others() const {
  for (const auto& [name, value] : read_.entries) {
    if (!named_.contains(name)) refuse(entry(name) + "is none that this strategy has");
  }
}

StrategyState Strategy::save() {
  StrategyState state;
  StateFields fields(state);
  describe(fields);
  return state;
}

void Strategy::check(const StrategyState& state) {
  StateFields fields(state, StateFields::Then::check);
  describe(fields);
  fields.expect_no_others();
}

void Strategy::load(const StrategyState& state) {
  check(state);
  StateFields fields(state, StateFields::Then::load);
  describe(fields);
}

}  // namespace syncopate
