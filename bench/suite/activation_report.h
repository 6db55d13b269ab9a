// `syncopate bench activation`: how long it takes from one rank's arrival until the last rank has
// the round, against the number of machines (bench/peers/activation.h).
#pragma once

#include <vector>

#include "bench/suite/request.h"

namespace syncopate::cli::bench {

void add_activation_options(CLI::App& command, Typed& typed);

/// One request for each number of machines; throws UsageError.
std::vector<Request> checked_activation(const Typed& typed);

/// Returns the exit code.
int run_activation(const std::vector<Request>& requests);

}  // namespace syncopate::cli::bench
