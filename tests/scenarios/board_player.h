// Plays a scenario on the board, with ranks as fibers on a scripted machine.
#pragma once

#include "scenarios/record.h"
#include "scenarios/scenario.h"

namespace syncopate::testing {

Record play_on_board(const Scenario& scenario);

}  // namespace syncopate::testing
