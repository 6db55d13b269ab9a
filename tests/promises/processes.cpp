// The same promises with ranks that are processes of their own.
#include "support/promise.h"

namespace syncopate::testing {

Crew crew_of_this_program() { return Crew::processes; }

}  // namespace syncopate::testing
