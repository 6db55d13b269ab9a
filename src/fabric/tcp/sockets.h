// The sockets of the fabric: listening, calling, and how soon the kernel gives a connection up.
#pragma once

#include <netinet/in.h>

#include <optional>
#include <string>

#include "base/descriptor.h"

namespace syncopate::fabric::tcp {

/// An IPv4 address and a port, both in network order.
struct Address {
  in_addr_t host = 0;
  in_port_t port = 0;
};
std::string to_string(const Address& address);
std::optional<Address> parse_address(const std::string& text);

/// The IPv4 address of a host's name. Throws `environment`.
in_addr_t resolve(const std::string& host);

/// Listens at that address of this host; with port 0 at any that is free. Throws `environment`.
base::Descriptor listen_at(const Address& address);
Address address_of(int socket);

/// Begins to call; closed if the kernel refuses at once. Does not wait.
base::Descriptor begin_call(const Address& address);
/// A call that was begun can be written to: whether it got through.
bool got_through(int socket);

/// Accepts what has come, without waiting; closed if nothing has.
base::Descriptor accept_one(int listener);

/// Small frames are not kept back, and a host that is out of reach is noticed within eight seconds
/// even when nothing is said.
void prepare_connection(int socket);

}  // namespace syncopate::fabric::tcp
