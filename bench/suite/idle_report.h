// `syncopate bench idle`: runs the measurement of idle.h on one board, where there is no agent, and
// on several, and shows both.
#pragma once

#include "bench/suite/request.h"

namespace syncopate::cli::bench {

/// Returns the exit code.
int run_idle(const Request& request);

}  // namespace syncopate::cli::bench
