// The handle of what a loop has under way.
#pragma once

#include <utility>

#include "syncopate.h"
#include "syncopate/strategy_state.h"

struct syncopate_state {
  syncopate_state() = default;
  explicit syncopate_state(syncopate::StrategyState saved) : state(std::move(saved)) {}

  syncopate::StrategyState state;
};
