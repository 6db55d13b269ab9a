#include "fabric/mpi/fabric.h"

#include <utility>

namespace syncopate::fabric::mpi {
namespace {

class Opening : public Operation {
 public:
  Opening(std::shared_ptr<Openings> openings, std::unique_ptr<Channel>& into)
      : openings_(std::move(openings)), order_(openings_->add(into)) {}
  ~Opening() override { order_->into = nullptr; }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;

  bool done() override {
    if (!order_->done) openings_->advance();
    return order_->done;
  }

 private:
  std::shared_ptr<Openings> openings_;
  std::shared_ptr<Openings::Order> order_;
};

}  // namespace

MpiFabric::MpiFabric(Communicator& agents, std::chrono::nanoseconds timeout)
    : openings_(std::make_shared<Openings>(agents, timeout)), messages_(agents, timeout) {}

void MpiFabric::send(int machine, std::span<const std::byte> message) {
  messages_.send(machine, message);
}

int MpiFabric::receive(std::vector<std::byte>& message) { return messages_.receive(message); }

std::unique_ptr<Operation> MpiFabric::open(std::unique_ptr<Channel>& into) {
  return std::make_unique<Opening>(openings_, into);
}

}  // namespace syncopate::fabric::mpi
