// What the collectives and the agent of this build put on a board, for ranks of another build to be
// refused (board/imprint.h).
#pragma once

#include "board/imprint.h"

namespace syncopate::world {

board::LayoutBehind layout_behind_roster();

}  // namespace syncopate::world
