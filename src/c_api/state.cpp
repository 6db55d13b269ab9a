#include "c_api/state.h"

#include <iterator>
#include <string>
#include <vector>

#include "c_api/guard.h"
#include "syncopate/error.h"
#include "syncopate/strategy.h"

using namespace syncopate;
using namespace syncopate::c_api;

syncopate_status syncopate_state_new(syncopate_state** state) {
  return guarded([&] {
    expect(state, "state");
    *state = new syncopate_state;
  });
}

void syncopate_state_free(syncopate_state* state) { delete state; }

std::size_t syncopate_state_size(const syncopate_state* state) {
  return state == nullptr ? 0 : state->state.entries.size();
}

syncopate_status syncopate_state_get(const syncopate_state* state, std::size_t index,
                                     syncopate_state_entry* entry) {
  return guarded([&] {
    expect(state, "state");
    expect(entry, "entry");
    if (index >= state->state.entries.size()) {
      throw Error(ErrorCode::invalid_argument, "there is no entry " + std::to_string(index),
                  "There are syncopate_state_size() of them");
    }
    const auto& [name, kept] = *std::next(state->state.entries.begin(), std::ptrdiff_t(index));
    const auto* vector = std::get_if<std::vector<float>>(&kept.value);
    static const float none = 0;  // A vector without values has an address as well.
    *entry = {.name = name.c_str(), .sharing = int(kept.sharing)};
    if (vector != nullptr) {
      entry->vector = vector->empty() ? &none : vector->data();
      entry->length = vector->size();
    } else {
      entry->number = std::get<double>(kept.value);
    }
  });
}

syncopate_status syncopate_state_add(syncopate_state* state, const syncopate_state_entry* entry) {
  return guarded([&] {
    expect(state, "state");
    expect(entry, "entry");
    expect(entry->name, "name");
    if (entry->sharing < 0 || entry->sharing > int(Sharing::pending)) {
      throw Error(ErrorCode::invalid_argument,
                  "the sharing of an entry is " + std::to_string(entry->sharing), "Give 0, 1 or 2");
    }
    StateEntry kept{.sharing = Sharing(entry->sharing), .value = entry->number};
    if (entry->vector != nullptr) {
      kept.value = std::vector<float>(entry->vector, entry->vector + entry->length);
    }
    state->state.entries[entry->name] = std::move(kept);
  });
}

syncopate_status syncopate_strategy_check(const char* strategy, int ranks) {
  return guarded([&] {
    expect(strategy, "strategy");
    check_strategy(strategy, ranks);
  });
}

namespace {

const StrategyDescription* described(std::size_t index) {
  static const std::vector<StrategyDescription> all = strategies();
  return index < all.size() ? &all[index] : nullptr;
}

}  // namespace

const char* syncopate_strategy_name(std::size_t index) {
  const StrategyDescription* found = described(index);
  return found == nullptr ? nullptr : found->name.c_str();
}

const char* syncopate_strategy_summary(std::size_t index) {
  const StrategyDescription* found = described(index);
  return found == nullptr ? nullptr : found->summary.c_str();
}
