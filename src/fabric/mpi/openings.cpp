#include "fabric/mpi/openings.h"

#include "fabric/mpi/channel.h"

namespace syncopate::fabric::mpi {

Openings::Openings(Communicator& agents, std::chrono::nanoseconds timeout)
    : agents_(agents.duplicate(timeout)),
      machines_(agents.size()),
      longest_piece_(longest_piece()),
      memory_(std::make_unique<Memory>()) {}

Openings::~Openings() {
  if (phase_ == Phase::resting) return;
  // Nobody waits any more for what is under way, and MPI may still write to its memory: it stays.
  agents_.abandon();
  static_cast<void>(memory_.release());
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
    if (phase_ == Phase::resting) begin_to_agree();
    int complete = 0;
    check(MPI_Test(&request_, &complete, MPI_STATUS_IGNORE), "MPI_Test");
    if (complete == 0) return;
    if (phase_ == Phase::agreeing) {
      const std::shared_ptr<Line> line = agreed();
      line != nullptr ? deliver(line) : begin_to_duplicate();
    } else {
      lines_.push_back(std::make_shared<Line>(Communicator(memory_->fresh)));
      deliver(lines_.back());
    }
  }
}

void Openings::begin_to_agree() {
  if (lines_.empty()) return begin_to_duplicate();
  std::vector<std::int64_t>& ledger = memory_->ledger;
  ledger.clear();
  for (const auto& line : lines_) {
    ledger.push_back(line->free() ? 1 : 0);
    ledger.push_back(line->unmatched);
  }
  check(MPI_Iallreduce(MPI_IN_PLACE, ledger.data(), static_cast<int>(ledger.size()), MPI_INT64_T,
                       MPI_SUM, agents_.handle(), &request_),
        "MPI_Iallreduce");
  phase_ = Phase::agreeing;
}

void Openings::begin_to_duplicate() {
  check(MPI_Comm_idup(agents_.handle(), &memory_->fresh, &request_), "MPI_Comm_idup");
  phase_ = Phase::duplicating;
}

std::shared_ptr<Line> Openings::agreed() const {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (memory_->ledger[2 * i] == machines_ && memory_->ledger[2 * i + 1] == 0) return lines_[i];
  }
  return nullptr;
}

void Openings::deliver(const std::shared_ptr<Line>& line) {
  phase_ = Phase::resting;
  const std::shared_ptr<Order> order = waiting_.front();
  waiting_.pop_front();
  if (order->into != nullptr) *order->into = std::make_unique<MpiChannel>(line, longest_piece_);
  order->done = true;
}

}  // namespace syncopate::fabric::mpi
