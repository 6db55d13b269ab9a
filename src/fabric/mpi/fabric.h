// The fabric on MPI: messages and channels, for the agent.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/mpi/channel_factory.h"
#include "fabric/mpi/communicator.h"
#include "fabric/mpi/messages.h"
#include "fabric/mpi/yields.h"

namespace syncopate::fabric::mpi {

class MpiFabric : public Fabric {
 public:
  MpiFabric(Communicator& agents, std::chrono::nanoseconds timeout);

  void send(int machine, std::span<const std::byte> message) override;
  int receive(std::vector<std::byte>& message) override;
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override;

 private:
  NoYields no_yields_;
  std::shared_ptr<ChannelFactory> channels_;
  Messages messages_;  ///< Goes first, and waits for the other machines.
};

}  // namespace syncopate::fabric::mpi
