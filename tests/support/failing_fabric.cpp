#include "support/failing_fabric.h"

#include <stdexcept>
#include <utility>

namespace syncopate::testing {
namespace {

using fabric::Channel;
using fabric::Combine;
using fabric::Operation;

void risk(FabricFailure& failure, FabricCall call) {
  const bool broken = failure.happened && failure.for_good;
  const bool breaks = call == failure.at && failure.due && !failure.happened.exchange(true);
  if (broken || breaks) throw std::runtime_error(FabricFailure::kWords);
}

class FailingOperation final : public Operation {
 public:
  FailingOperation(std::unique_ptr<Operation> operation, FabricFailure& failure)
      : operation_(std::move(operation)), failure_(failure) {}
  bool done() override {
    risk(failure_, FabricCall::done);
    return operation_->done();
  }

 private:
  std::unique_ptr<Operation> operation_;
  FabricFailure& failure_;
};

class FailingChannel final : public Channel {
 public:
  FailingChannel(std::unique_ptr<Channel> channel, FabricFailure& failure)
      : channel_(std::move(channel)), failure_(failure) {}

  std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) override {
    risk(failure_, FabricCall::gather);
    return watched(channel_->gather(mine, bytes, all));
  }
  std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                    DataType type, Combine combine) override {
    risk(failure_, FabricCall::reduce);
    return watched(channel_->reduce(mine, result, elements, type, combine));
  }
  std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                  std::size_t bytes) override {
    risk(failure_, FabricCall::send);
    return watched(channel_->send(machine, tag, values, bytes));
  }
  std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                     std::size_t bytes) override {
    risk(failure_, FabricCall::receive);
    return watched(channel_->receive(machine, tag, values, bytes));
  }

 private:
  std::unique_ptr<Operation> watched(std::unique_ptr<Operation> operation) {
    return std::make_unique<FailingOperation>(std::move(operation), failure_);
  }

  std::unique_ptr<Channel> channel_;
  FabricFailure& failure_;
};

/// A channel that opens fails as the others do.
class FailingOpening final : public Operation {
 public:
  FailingOpening(fabric::Fabric& fabric, std::unique_ptr<Channel>& into, FabricFailure& failure)
      : operation_(fabric.open(opened_)), into_(into), failure_(failure) {}
  bool done() override {
    risk(failure_, FabricCall::done);
    if (!operation_->done()) return false;
    if (opened_ != nullptr) into_ = std::make_unique<FailingChannel>(std::move(opened_), failure_);
    return true;
  }

 private:
  std::unique_ptr<Channel> opened_;
  std::unique_ptr<Operation> operation_;
  std::unique_ptr<Channel>& into_;
  FabricFailure& failure_;
};

class FailingFabric final : public fabric::Fabric {
 public:
  FailingFabric(std::unique_ptr<fabric::Fabric> fabric, FabricFailure& failure)
      : fabric_(std::move(fabric)), failure_(failure) {}

  void send(int machine, std::span<const std::byte> message) override {
    risk(failure_, FabricCall::message);
    fabric_->send(machine, message);
  }
  int receive(std::vector<std::byte>& message) override {
    risk(failure_, FabricCall::look);
    return fabric_->receive(message);
  }
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override {
    risk(failure_, FabricCall::open);
    return std::make_unique<FailingOpening>(*fabric_, into, failure_);
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  FabricFailure& failure_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> failing(std::unique_ptr<fabric::Fabric> fabric,
                                        FabricFailure& failure) {
  return std::make_unique<FailingFabric>(std::move(fabric), failure);
}

}  // namespace syncopate::testing
