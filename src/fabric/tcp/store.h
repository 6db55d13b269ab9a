// A rendezvous of our own, for ranks whose launcher has none: rank 0 keeps the table and listens,
// the others ask it over TCP. A rank that asks has to prove that it is of the same job, as machines
// do (handshake.h). Lengths are checked before memory is taken, and a connection is slow at its own
// cost only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "fabric/tcp/handshake.h"
#include "fabric/tcp/sockets.h"
#include "syncopate/rendezvous.h"

namespace syncopate::fabric::tcp {

/// What all ranks of a job know of their rendezvous.
struct StorePlace {
  std::string host;
  int port = 0;  ///< In the host's order.
  int rank = 0;
  int size = 0;
  bool one_host = false;  ///< All ranks are on it.
  std::string job;        ///< Which job it is, and which start of it.
};

/// Throws `environment` if rank 0 cannot listen there.
std::unique_ptr<Rendezvous> make_store(const StorePlace& place);

/// A secret that the user has given all ranks (SYNCOPATE_SECRET), mixed with a text; without one
/// the text is all that there is to know.
Digest users_secret(const std::string& text);
inline constexpr const char* kSecretVariable = "SYNCOPATE_SECRET";
inline constexpr const char* kPortVariable = "SYNCOPATE_PORT";

/// From the environment, as rendezvous_from_environment() says.
StorePlace store_place_from_environment(int rank, int size, bool one_host);

}  // namespace syncopate::fabric::tcp
