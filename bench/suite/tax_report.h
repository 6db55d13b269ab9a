// `syncopate bench tax`: runs the measurement of tax.h and shows it.
#pragma once

#include "bench/suite/request.h"

namespace syncopate::cli::bench {

/// Returns the exit code.
int run_tax(const Request& request);

}  // namespace syncopate::cli::bench
