// Whether the program wants a wait to end (syncopate/interrupt.h).
#pragma once

#include "syncopate/interrupt.h"

namespace syncopate::board {

bool interrupted();

}  // namespace syncopate::board
