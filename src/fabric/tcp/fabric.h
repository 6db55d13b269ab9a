// The fabric without MPI: plain TCP between machines, one connection for each two of them, built
// into the library. An agent can sleep until there is something to do (descriptor()).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/tcp/hub.h"

namespace syncopate::fabric::tcp {

class TcpFabric final : public Fabric {
 public:
  explicit TcpFabric(std::shared_ptr<Hub> hub) : hub_(std::move(hub)) {}

  void send(int machine, std::span<const std::byte> message) override {
    hub_->send(machine, message);
  }
  int receive(std::vector<std::byte>& message) override { return hub_->receive(message); }
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override;
  int descriptor() const override { return hub_->descriptor(); }

 private:
  std::shared_ptr<Hub> hub_;
};

}  // namespace syncopate::fabric::tcp
