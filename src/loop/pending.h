// What ranks have under way, put together for a checkpoint that any number of ranks can go on from.
#pragma once

#include "syncopate/rank_set.h"
#include "syncopate/strategy_state.h"
#include "syncopate/world.h"

namespace syncopate::loop {

/// From what each rank's strategy has saved: what is the same on every rank, and the sum of what is
/// pending. All of `ranks` call it, and all get the same.
StrategyState gather_pending(World& world, const RankSet& ranks, const StrategyState& own);

/// Of what was gathered, this rank's share: one rank inherits what was pending.
StrategyState share_of(const World& world, const StrategyState& gathered);

}  // namespace syncopate::loop
