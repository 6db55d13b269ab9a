// Runs a job in a process of its own, a child of this one, in which every orphan of the job ends
// up. This process waits for the result and passes signals on. Whichever of the two is killed with
// SIGKILL, the other ends whatever the ranks have started, in whatever session it is.
#pragma once

#include "launch/launcher.h"

namespace syncopate::launch {

/// Throws Error, or std::system_error when there are no descriptors or processes left.
LaunchResult run_apart(const LaunchOptions& options);

}  // namespace syncopate::launch
