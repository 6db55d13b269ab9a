// Whether the program wants a wait to end (syncopate/interrupt.h).
#pragma once

#include "syncopate/interrupt.h"

namespace syncopate::board {

/// Throws Error(interrupted) if it does.
void check_interrupt(int rank);

}  // namespace syncopate::board
