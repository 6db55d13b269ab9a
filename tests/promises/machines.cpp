// The same promises with ranks on several boards and a fabric between them, in one process.
#include "support/memory_fabric.h"
#include "support/promise.h"

namespace syncopate::testing {

Crew crew_of_this_program() { return Crew::machines; }

}  // namespace syncopate::testing
