// The promises (README.md), with ranks that are threads of one process.
#include "support/promise.h"

namespace syncopate::testing {

Crew crew_of_this_program() { return Crew::threads; }

}  // namespace syncopate::testing
