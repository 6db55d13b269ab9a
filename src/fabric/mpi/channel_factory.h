// Opens the channels of a fabric, one at a time and in the order they were asked for: a thread that
// waits for a later one moves the earlier ones on.
//
// MPI_Comm_free is collective, and machines let go of their channels at different times and in
// different orders. So no communicator is freed before the fabric goes. One that has become free on
// every machine is used again instead: MPI has only some thousands. Which one that is, is agreed on
// by a small reduction at every opening, so that it is the same on all machines.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/communicator.h"
#include "fabric/mpi/pooled_communicator.h"

namespace syncopate::fabric::mpi {

class ChannelFactory {
 public:
  struct Request {
    std::unique_ptr<Channel>* into = nullptr;  ///< Null if no thread waits for it any more.
    bool done = false;
  };

  ChannelFactory(Communicator& agents, std::chrono::nanoseconds timeout);
  ~ChannelFactory();
  ChannelFactory(const ChannelFactory&) = delete;
  ChannelFactory& operator=(const ChannelFactory&) = delete;

  std::shared_ptr<Request> add(std::unique_ptr<Channel>& into);
  void advance();

 private:
  enum class Phase : std::uint8_t {
    resting,      ///< Nothing is under way.
    agreeing,     ///< On a communicator that is free on every machine, for the order at the front.
    duplicating,  ///< There was none: another is made.
  };

  /// What MPI writes to while a phase lasts.
  struct Memory {
    /// For every line: 1 if it is free here, and its unmatched. Then the sums over the machines.
    std::vector<std::int64_t> ledger;
    MPI_Comm fresh = MPI_COMM_NULL;
  };

  void begin_to_agree();
  void begin_to_duplicate();
  void deliver(const std::shared_ptr<PooledCommunicator>& pooled);
  std::shared_ptr<PooledCommunicator> agreed() const;

  Communicator agents_;
  std::int64_t machines_;
  std::size_t longest_piece_;
  Phase phase_ = Phase::resting;
  MPI_Request request_ = MPI_REQUEST_NULL;  ///< Of the phase.
  std::unique_ptr<Memory> memory_;
  std::deque<std::shared_ptr<Request>> waiting_;
  std::vector<std::shared_ptr<PooledCommunicator>> pool_;  ///< The same on every machine.
};

}  // namespace syncopate::fabric::mpi
