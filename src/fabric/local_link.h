// Brings together the ranks of one machine that a launcher without MPI has started, as torchrun
// does: at a socket that is named after the job and has no file. The first rank listens, the others
// come to it. There is no fabric, because one machine needs none.
#pragma once

#include <memory>

#include "fabric/fabric.h"
#include "fabric/job_environment.h"

namespace syncopate::fabric {

/// All ranks of the launcher, on this machine, call this. Throws `timeout`, naming who did not come
/// within SYNCOPATE_TIMEOUT, or `environment` if the place is taken by another job or user.
std::unique_ptr<Link> make_local_link(const JobEnvironment& launcher);

}  // namespace syncopate::fabric
