// Where ranks that share nothing yet find each other: a table of keys and values that all of them
// can reach. World::join() needs one and uses it until it returns. A program hands in its own, for
// example the store of torchrun, or has one made here.
#pragma once

#include <memory>
#include <string>

#include "syncopate/policy.h"

namespace syncopate {

/// Keys and values are printable text. Each key is set once, by one rank. A value may have as many
/// bytes as there are ranks, a hundred times over. One thread at a time uses it.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;

  /// Gives `key` a value, for all ranks.
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// The value of `key`. Waits until a rank sets it, for `timeout` at most; from then on throws,
  /// for example Error(timeout).
  virtual std::string get(const std::string& key, Duration timeout) = 0;
};

/// One of our own: rank 0 listens at this port of this host, the others come to it over TCP. All
/// ranks make it. Rank 0's goes when the others' have gone, or after some seconds. Throws
/// `environment` where rank 0 cannot listen; rank 0 that is not there is missed by the first call.
std::unique_ptr<Rendezvous> make_rendezvous(const std::string& host, int port, int rank, int size);

/// The same for ranks that torchrun has started, or what sets its variables: at MASTER_ADDR, and
/// at SYNCOPATE_PORT or else at MASTER_PORT + 1, as MASTER_PORT is torchrun's own.
std::unique_ptr<Rendezvous> rendezvous_from_environment();

}  // namespace syncopate
