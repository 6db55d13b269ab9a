// Ranks that are the processes mpirun started. Every one of them runs every test, in the same
// order.
#pragma once

#include <functional>

#include "syncopate/world.h"

namespace syncopate::testing {

/// How many processes mpirun started; 1 if it did not start this one.
int mpirun_ranks();
int mpirun_rank();

/// Calls `body` in every process and returns when it has returned in all of them. Skips the test
/// if there are more or fewer than `ranks`. SYNCOPATE_TEST_ONE_WORLD: one world for all tests, and
/// not a new one for each.
void on_mpirun(int ranks, const std::function<void(World&)>& body);

/// Ends this process at the first failure, for the others may wait for it in vain; mpirun then
/// ends them too. Only rank 0 tells how the tests go.
void end_on_failure(int rank);

/// What a program's main() does with its tests.
int run_tests_under_mpirun(int count, char** arguments);

}  // namespace syncopate::testing
