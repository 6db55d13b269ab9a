// The strategies there are. Adding one is adding a file that defines an Entry, and its line in
// registry.cpp.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "strategy/specification.h"
#include "syncopate/strategy.h"

namespace syncopate::strategy {

using Maker = std::function<std::unique_ptr<Strategy>(const Training&)>;

struct Entry {
  StrategyDescription description;
  /// Checks the values for so many ranks, and returns what makes the strategy with them.
  std::function<Maker(const Values& values, int ranks)> read;
};

const Entry& sync();
const Entry& eager_solo();
const Entry& eager_majority();
const Entry& eager_quorum();
const Entry& m_sync();
const Entry& dropcompute();
const Entry& wagma();
const Entry& local();
const Entry& post_local();
const Entry& biased_local();

std::span<const Entry* const> registry();

}  // namespace syncopate::strategy
