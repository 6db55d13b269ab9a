// What becomes of the parts of a checkpoint when those who go on with it are not those who saved
// it: ranks that had died, or another number of ranks. What a rank had under way goes to one heir:
// of P ranks rank r inherits from all old ranks r, r + P, r + 2P … that there were.
#pragma once

#include "train/checkpoint.h"

namespace syncopate::train {

/// For a rank that was not there: leaves out what was under way.
void make_stand_in(Snapshot& snapshot);

/// Adds what another rank had under way; all else is the same in both, or own.
void inherit(Snapshot& heir, const Snapshot& other);

}  // namespace syncopate::train
