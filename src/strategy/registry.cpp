#include "strategy/registry.h"

#include <array>

#include "syncopate/error.h"

namespace syncopate {
namespace strategy {

std::span<const Entry* const> registry() {
  static const std::array entries = {
      &sync(),        &eager_solo(), &eager_majority(), &eager_quorum(), &m_sync(),
      &dropcompute(), &wagma(),      &local(),          &post_local(),   &biased_local(),
  };
  return entries;
}

namespace {

const Entry& find(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  std::string names;
  for (const Entry* entry : registry()) {
    if (entry->description.name == name) return *entry;
    names += (names.empty() ? "" : ", ") + entry->description.name;
  }
  throw Error(ErrorCode::invalid_argument, "there is no strategy '" + std::string(name) + "'",
              "Use one of " + names);
}

Maker read(std::string_view text, int ranks) {
  const Entry& entry = find(text);
  return entry.read(Values(entry.description, text), ranks);
}

void start_from_first(const Training& training) {
  if (training.world.size() == 1) return;
  std::vector<float> weights(training.learner.size());
  training.learner.read_weights(weights);
  World(training.world).broadcast(std::span(weights), 0);
  training.learner.keep_weights_at(weights.data());
  training.learner.keep_weights_at(nullptr);
}

}  // namespace
}  // namespace strategy

std::unique_ptr<Strategy> make_strategy(std::string_view text, const Training& training) {
  const strategy::Maker make = strategy::read(text, training.world.size());
  if (training.start == Start::from_first) strategy::start_from_first(training);
  return make(training);
}

void check_strategy(std::string_view text, int ranks) { strategy::read(text, ranks); }

std::string spell_out_strategy(std::string_view text) {
  const StrategyDescription& description = strategy::find(text).description;
  return strategy::Values(description, text).spelled_out(description);
}

std::vector<StrategyDescription> strategies() {
  std::vector<StrategyDescription> descriptions;
  for (const strategy::Entry* entry : strategy::registry()) {
    descriptions.push_back(entry->description);
  }
  return descriptions;
}

}  // namespace syncopate
