// What a rank's process takes of a core while no rank does anything: every rank sleeps, with a
// collective open. In a world of several machines that is what their agents take, and MPI.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/peers/workload.h"
#include "syncopate/world.h"

namespace syncopate::cli::bench {

/// Measures, as one rank of the world, for `work.seconds`. Every rank gets the figures of all.
nlohmann::json measure_idle(World world, const peers::Workload& work);

}  // namespace syncopate::cli::bench
