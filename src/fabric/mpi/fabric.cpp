#include "fabric/mpi/fabric.h"

#include <utility>

namespace syncopate::fabric::mpi {
namespace {

class ChannelOpening : public Operation {
 public:
  ChannelOpening(std::shared_ptr<ChannelFactory> channels, std::unique_ptr<Channel>& into)
      : channels_(std::move(channels)), request_(channels_->add(into)) {}
  ~ChannelOpening() override { request_->into = nullptr; }
  ChannelOpening(const ChannelOpening&) = delete;
  ChannelOpening& operator=(const ChannelOpening&) = delete;

  bool done() override {
    if (!request_->done) channels_->advance();
    return request_->done;
  }

 private:
  std::shared_ptr<ChannelFactory> channels_;
  std::shared_ptr<ChannelFactory::Request> request_;
};

}  // namespace

MpiFabric::MpiFabric(Communicator& agents, std::chrono::nanoseconds timeout)
    : channels_(std::make_shared<ChannelFactory>(agents, timeout)), messages_(agents, timeout) {}

void MpiFabric::send(int machine, std::span<const std::byte> message) {
  messages_.send(machine, message);
}

int MpiFabric::receive(std::vector<std::byte>& message) { return messages_.receive(message); }

std::unique_ptr<Operation> MpiFabric::open(std::unique_ptr<Channel>& into) {
  return std::make_unique<ChannelOpening>(channels_, into);
}

}  // namespace syncopate::fabric::mpi
