// Brings together the ranks of a world that has no MPI: they find each other by a rendezvous, those
// of one machine get the address of its board by it, and machines connect over TCP.
#pragma once

#include <memory>
#include <string>

#include "fabric/fabric.h"
#include "fabric/job_environment.h"
#include "syncopate/rendezvous.h"

namespace syncopate::fabric::tcp {

/// All ranks call this, with a name that was never used with this rendezvous. It is used until the
/// world stands. Throws `timeout`, naming who did not come within SYNCOPATE_TIMEOUT, or
/// `environment`.
std::unique_ptr<Link> make_link(Rendezvous& rendezvous, int rank, int size, const std::string& name,
                                const std::string& build);

/// The same with a rendezvous of our own, which goes when the world stands.
std::unique_ptr<Link> make_link(const JobEnvironment& launcher, const std::string& build);

}  // namespace syncopate::fabric::tcp
