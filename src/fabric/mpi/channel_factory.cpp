#include "fabric/mpi/channel_factory.h"

#include "fabric/mpi/channel.h"

namespace syncopate::fabric::mpi {

ChannelFactory::ChannelFactory(Communicator& agents, std::chrono::nanoseconds timeout)
    : agents_(agents.duplicate(timeout)),
      machines_(agents.size()),
      longest_piece_(longest_piece()),
      memory_(std::make_unique<Memory>()) {}

ChannelFactory::~ChannelFactory() {
  if (phase_ == Phase::resting) return;
  // No thread waits any more for what is under way, and MPI may still write to its memory: it
  // stays.
  agents_.abandon();
  static_cast<void>(memory_.release());
}

std::shared_ptr<ChannelFactory::Request> ChannelFactory::add(std::unique_ptr<Channel>& into) {
  auto request = std::make_shared<Request>();
  request->into = &into;
  waiting_.push_back(request);
  advance();
  return request;
}

void ChannelFactory::advance() {
  while (!waiting_.empty()) {
    if (phase_ == Phase::resting) begin_to_agree();
    int complete = 0;
    check(MPI_Test(&request_, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    if (complete == 0) return;
    if (phase_ == Phase::agreeing) {
      const std::shared_ptr<PooledCommunicator> pooled = agreed();
      pooled != nullptr ? deliver(pooled) : begin_to_duplicate();
    } else {
      pool_.push_back(std::make_shared<PooledCommunicator>(Communicator(memory_->fresh)));
      deliver(pool_.back());
    }
  }
}

void ChannelFactory::begin_to_agree() {
  if (pool_.empty()) return begin_to_duplicate();
  std::vector<std::int64_t>& ledger = memory_->ledger;
  ledger.clear();
  for (const auto& pooled : pool_) {
    ledger.push_back(pooled->free() ? 1 : 0);
    ledger.push_back(pooled->unmatched);
  }
  check(MPI_Iallreduce(MPI_IN_PLACE, ledger.data(), static_cast<int>(ledger.size()), MPI_INT64_T,
                       MPI_SUM, agents_.handle(), &request_),
        "MPI_Iallreduce");
  phase_ = Phase::agreeing;
}

void ChannelFactory::begin_to_duplicate() {
  check(MPI_Comm_idup(agents_.handle(), &memory_->fresh, &request_), "MPI_Comm_idup");
  phase_ = Phase::duplicating;
}

std::shared_ptr<PooledCommunicator> ChannelFactory::agreed() const {
  for (std::size_t i = 0; i < pool_.size(); ++i) {
    if (memory_->ledger[2 * i] == machines_ && memory_->ledger[2 * i + 1] == 0) return pool_[i];
  }
  return nullptr;
}

void ChannelFactory::deliver(const std::shared_ptr<PooledCommunicator>& pooled) {
  phase_ = Phase::resting;
  const std::shared_ptr<Request> request = waiting_.front();
  waiting_.pop_front();
  if (request->into != nullptr)
    *request->into = std::make_unique<MpiChannel>(pooled, longest_piece_);
  request->done = true;
}

}  // namespace syncopate::fabric::mpi
