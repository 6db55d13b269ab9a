#include "strategy/registry.h"

#include "syncopate/error.h"

namespace syncopate {
namespace strategy {

std::span<const Entry* const> registry() {
  static const Entry* const entries[] = {
      &sync(),        &eager_solo(), &eager_majority(), &eager_quorum(), &m_sync(),
      &dropcompute(), &wagma(),      &local(),          &post_local(),   &biased_local(),
  };
  return entries;
}

namespace {

Maker read(std::string_view text, int ranks) {
  const std::string_view name = text.substr(0, text.find(':'));
  std::string names;
  for (const Entry* entry : registry()) {
    if (entry->description.name == name)
      return entry->read(Values(entry->description, text), ranks);
    names += (names.empty() ? "" : ", ") + entry->description.name;
  }
  throw Error(ErrorCode::invalid_argument, "there is no strategy '" + std::string(name) + "'",
              "Use one of " + names);
}

}  // namespace
}  // namespace strategy

std::unique_ptr<Strategy> make_strategy(std::string_view text, const Training& training) {
  return strategy::read(text, training.world.size())(training);
}

void check_strategy(std::string_view text, int ranks) { strategy::read(text, ranks); }

std::vector<StrategyDescription> strategies() {
  std::vector<StrategyDescription> descriptions;
  for (const strategy::Entry* entry : strategy::registry()) {
    descriptions.push_back(entry->description);
  }
  return descriptions;
}

}  // namespace syncopate
