// The same promises with ranks that mpirun started, on as many machines as it says.
#include "support/mpirun.h"

#include "support/promise.h"

namespace syncopate::testing {

Crew crew_of_this_program() { return Crew::mpirun; }

}  // namespace syncopate::testing

int main(int count, char** arguments) {
  return syncopate::testing::run_tests_under_mpirun(count, arguments);
}
