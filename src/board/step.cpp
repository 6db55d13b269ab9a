#include "board/step.h"

namespace syncopate::board {

#ifdef SYNCOPATE_STEPPED
StepHook step_hook = nullptr;
#endif

}  // namespace syncopate::board
