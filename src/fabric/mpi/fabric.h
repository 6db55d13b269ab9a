// The fabric on MPI: messages, and channels opened one after another.
//
// The communicator of a channel is kept until the fabric goes. MPI_Comm_free is collective, and
// machines let go of their channels at different times and in different orders; at the end of the
// fabric all of them are there.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/communicator.h"
#include "fabric/mpi/messages.h"

namespace syncopate::fabric::mpi {

/// Duplicates a communicator for each channel, one at a time and in the order they were asked for:
/// whoever waits for a later one moves the earlier ones on.
class Openings {
 public:
  struct Order {
    std::unique_ptr<Channel>* into = nullptr;  ///< Null if nobody waits for it any more.
    bool done = false;
  };

  explicit Openings(const Communicator& agents);
  ~Openings();
  Openings(const Openings&) = delete;
  Openings& operator=(const Openings&) = delete;

  std::shared_ptr<Order> add(std::unique_ptr<Channel>& into);
  void advance();

 private:
  Communicator agents_;
  std::size_t longest_piece_;
  std::deque<std::shared_ptr<Order>> waiting_;
  MPI_Comm fresh_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;  ///< Of the one at the front.
  bool begun_ = false;
  std::vector<std::shared_ptr<Communicator>> all_;
};

class MpiFabric : public Fabric {
 public:
  explicit MpiFabric(const Communicator& agents);

  void send(int machine, std::span<const std::byte> message) override;
  int receive(std::vector<std::byte>& message) override;
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override;

 private:
  std::shared_ptr<Openings> openings_;
  Messages messages_;  ///< Goes first, and waits for the other machines.
};

}  // namespace syncopate::fabric::mpi
