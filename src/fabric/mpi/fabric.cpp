#include "fabric/mpi/fabric.h"

#include <utility>

#include "fabric/mpi/channel.h"

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

Openings::Openings(const Communicator& agents)
    : agents_(agents.duplicate()), longest_piece_(longest_piece()) {}

Openings::~Openings() {
  if (begun_) agents_.abandon();
}

std::shared_ptr<Openings::Order> Openings::add(std::unique_ptr<Channel>& into) {
  auto order = std::make_shared<Order>();
  order->into = &into;
  waiting_.push_back(order);
  advance();
  return order;
}

void Openings::advance() {
  while (!waiting_.empty()) {
    if (!begun_) {
      check(MPI_Comm_idup(agents_.handle(), &fresh_, &request_), "MPI_Comm_idup");
      begun_ = true;
    }
    int complete = 0;
    check(MPI_Test(&request_, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    if (complete == 0) return;
    begun_ = false;
    all_.push_back(std::make_shared<Communicator>(fresh_));
    Order& order = *waiting_.front();
    if (order.into != nullptr) {
      *order.into = std::make_unique<MpiChannel>(all_.back(), longest_piece_);
    }
    order.done = true;
    waiting_.pop_front();
  }
}

MpiFabric::MpiFabric(const Communicator& agents)
    : openings_(std::make_shared<Openings>(agents)), messages_(agents) {}

void MpiFabric::send(int machine, std::span<const std::byte> message) {
  messages_.send(machine, message);
}

int MpiFabric::receive(std::vector<std::byte>& message) { return messages_.receive(message); }

std::unique_ptr<Operation> MpiFabric::open(std::unique_ptr<Channel>& into) {
  return std::make_unique<Opening>(openings_, into);
}

}  // namespace syncopate::fabric::mpi
