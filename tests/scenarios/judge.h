// Compares what came of a scenario with what it expects, and with what every scenario promises:
// all ranks read the same result and receipt of a round, in order and without a gap, and
// nothing that was deposited is lost or counted twice.
#pragma once

#include <string>
#include <vector>

#include "scenarios/record.h"
#include "scenarios/scenario.h"

namespace syncopate::testing {

/// What is wrong, one sentence each.
std::vector<std::string> judge(const Scenario& scenario, const Record& record);

}  // namespace syncopate::testing
