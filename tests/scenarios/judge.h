// Compares what came of a scenario with what it expects, and with what every scenario promises:
// all ranks read the same result and receipt of a round, in order and without a gap, and
// nothing that was deposited is lost or counted twice.
#pragma once

#include <string>
#include <vector>

#include "scenarios/record.h"
#include "scenarios/scenario.h"

namespace syncopate::testing {

/// What is wrong, one sentence each. Times may differ from what is expected by `slack`.
std::vector<std::string> judge(const Scenario& scenario, const Record& record,
                               Moment slack = Moment(0));

/// What is left is what every scenario promises, and who fails.
Scenario without_expectations(Scenario scenario);
/// Without what is expected of the board alone.
Scenario for_other_back_ends(Scenario scenario);

}  // namespace syncopate::testing
