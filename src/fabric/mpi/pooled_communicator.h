// What a channel stands on: a communicator, and what is known of its use. It may serve one channel
// after another (channel_factory.h).
#pragma once

#include <cstdint>
#include <utility>

#include "fabric/mpi/communicator.h"

namespace syncopate::fabric::mpi {

struct PooledCommunicator {
  explicit PooledCommunicator(Communicator own) : communicator(std::move(own)) {}

  Communicator communicator;
  bool has_channel = false;
  int under_way = 0;           ///< Operations that are not done.
  std::int64_t unmatched = 0;  ///< Sends less receives: zero over all machines if all have met.

  bool free() const { return !has_channel && under_way == 0; }
};

}  // namespace syncopate::fabric::mpi
