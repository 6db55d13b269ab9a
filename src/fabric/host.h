// Who this host is, and by which of its addresses it reaches another.
#pragma once

#include <netinet/in.h>

#include <string>

namespace syncopate::fabric {

/// The same text for all processes that have one loopback, and for no others.
std::string identity_of_host();
/// The same for all that can share memory: containers of one host may have one network, and not see
/// each other's processes.
std::string identity_of_memory();

/// As a person would call it.
std::string name_of_host();

/// The address of this host that the kernel would send from to get there; 0 if there is no way.
/// Nothing is sent. Both in network order.
in_addr_t source_towards(in_addr_t address);

bool is_loopback(in_addr_t address);

}  // namespace syncopate::fabric
