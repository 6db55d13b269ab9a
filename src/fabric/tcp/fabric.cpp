#include "fabric/tcp/fabric.h"

#include "fabric/tcp/channel.h"

namespace syncopate::fabric::tcp {
namespace {

/// Machines open their channels in the same order: so they need not ask each other.
class Opened : public Operation {
 public:
  bool done() override { return true; }
};

}  // namespace

std::unique_ptr<Operation> TcpFabric::open(std::unique_ptr<Channel>& into) {
  into = std::make_unique<TcpChannel>(hub_);
  return std::make_unique<Opened>();
}

}  // namespace syncopate::fabric::tcp
