#include "fabric/tcp/channel.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "fabric/sum_by_parts.h"
#include "kernel/kernel.h"
#include "syncopate/error.h"

namespace syncopate::fabric::tcp {
namespace {

/// Bits of all machines that are kept at a time, from each.
constexpr std::size_t kBitsAtOnce = 64 << 10;
/// A part of a sum should be worth a frame.
constexpr std::size_t kSmallestPart = 256;

class Transfers : public Operation {
 public:
  explicit Transfers(std::shared_ptr<Hub> hub) : hub_(std::move(hub)) {}
  ~Transfers() override {
    for (const TransferPointer& transfer : transfers_) transfer->given_up = !transfer->done;
  }
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  void send(int machine, Way way, const std::byte* values, std::size_t bytes) {
    hub_->send(machine, way, add({.from = values, .bytes = bytes}));
  }
  void receive(int machine, Way way, std::byte* values, std::size_t bytes) {
    hub_->receive(machine, way, add({.into = values, .bytes = bytes}));
  }
  /// `all` gets those of every machine.
  void gather(Way way, const std::byte* mine, std::size_t bytes, std::byte* all) {
    const int machines = hub_->machines(), own = hub_->machine();
    if (bytes > 0) std::memcpy(all + own * bytes, mine, bytes);
    // Received first, so that those who send are not kept waiting; each begins with the machine
    // after its own.
    for (int step = 1; step < machines; ++step) {
      const int other = (own + machines - step) % machines;
      receive(other, way, all + other * bytes, bytes);
    }
    for (int step = 1; step < machines; ++step) send((own + step) % machines, way, mine, bytes);
  }

  bool done() override {
    if (all_done()) return true;
    hub_->advance();
    if (all_done()) return true;
    hub_->expect_all();
    return false;
  }
  bool all_done() {
    while (!transfers_.empty() && transfers_.back()->done) transfers_.pop_back();
    return transfers_.empty();
  }

 private:
  const TransferPointer& add(const Transfer& transfer) {
    return transfers_.emplace_back(std::make_shared<Transfer>(transfer));
  }

  std::shared_ptr<Hub> hub_;
  std::vector<TransferPointer> transfers_;
};

/// An operation of several steps.
class SteppedOperation : public Operation, private Steps {
 public:
  explicit SteppedOperation(std::shared_ptr<Hub> hub) : hub_(std::move(hub)) { hub_->add(*this); }
  ~SteppedOperation() override { hub_->remove(*this); }
  SteppedOperation(const SteppedOperation&) = delete;
  SteppedOperation& operator=(const SteppedOperation&) = delete;

  bool done() final {
    if (!complete_) hub_->advance();
    if (!complete_) hub_->expect_all();
    return complete_;
  }

 protected:
  Hub& hub() { return *hub_; }
  const std::shared_ptr<Hub>& shared_hub() { return hub_; }
  /// Moves on; whether it is complete.
  virtual bool step() = 0;

 private:
  void take_steps() final {
    complete_ = step();
    if (complete_) hub_->remove(*this);
  }

  std::shared_ptr<Hub> hub_;
  bool complete_ = false;
};

/// Few values, or bits: every machine gets those of all others, some at a time, and combines them.
class GatheredReduction final : public SteppedOperation {
 public:
  GatheredReduction(std::shared_ptr<Hub> hub, Way way, const void* mine, void* result,
                    std::size_t elements, DataType type, Combine combine)
      : SteppedOperation(std::move(hub)),
        way_(way),
        mine_(static_cast<const std::byte*>(mine)),
        result_(static_cast<std::byte*>(result)),
        bytes_(elements * size_of(type)),
        type_(type),
        combine_(combine) {
    begin_piece();
  }

 private:
  bool step() override {
    while (gathering_ != nullptr) {
      if (!gathering_->all_done()) return false;
      gathering_.reset();
      combine();
      begun_ += piece_;
      if (begun_ < bytes_) begin_piece();
    }
    return true;
  }

  void begin_piece() {
    piece_ = std::min(kBitsAtOnce, bytes_ - begun_);
    all_.resize(piece_ * hub().machines());
    gathering_ = std::make_unique<Transfers>(shared_hub());
    gathering_->gather(way_, mine_ + begun_, piece_, all_.data());
  }

  void combine() {
    if (piece_ == 0) return;
    if (combine_ == Combine::sum) {
      std::vector<board::Term> terms(hub().machines());
      for (std::size_t i = 0; i < terms.size(); ++i) {
        terms[i] = {.values = all_.data() + i * piece_, .weight = 1};
      }
      board::weighted_sum(type_, piece_ / size_of(type_), terms, 1, result_ + begun_);
      return;
    }
    for (int machine = 1; machine < hub().machines(); ++machine) {
      const std::byte* const theirs = all_.data() + machine * piece_;
      for (std::size_t i = 0; i < piece_; ++i) all_[i] |= theirs[i];
    }
    std::memcpy(result_ + begun_, all_.data(), piece_);
  }

  Way way_;
  const std::byte* mine_;
  std::byte* result_;
  std::size_t bytes_;
  DataType type_;
  Combine combine_;
  std::size_t begun_ = 0, piece_ = 0;
  std::vector<std::byte> all_;
  std::unique_ptr<Transfers> gathering_;
};

/// Many values: each machine adds up its part.
class ReductionByParts final : public SteppedOperation {
 public:
  ReductionByParts(Channel& channel, const std::shared_ptr<Hub>& hub,
                   const fabric::MachineSumVectors& vectors)
      : SteppedOperation(hub), sum_(channel, machines_of(*hub), hub->machine()) {
    sum_.begin(vectors, kReduceTag);
  }

 private:
  bool step() override { return sum_.done(moves_); }
  static std::vector<int> machines_of(const Hub& hub) {
    std::vector<int> machines(hub.machines());
    std::iota(machines.begin(), machines.end(), 0);
    return machines;
  }

  fabric::SumByParts sum_;
  std::uint64_t moves_ = 0;
};

}  // namespace

std::unique_ptr<Operation> TcpChannel::send(int machine, int tag, const void* values,
                                            std::size_t bytes) {
  auto operation = std::make_unique<Transfers>(hub_);
  operation->send(machine, {number_, static_cast<std::uint16_t>(tag)},
                  static_cast<const std::byte*>(values), bytes);
  return operation;
}

std::unique_ptr<Operation> TcpChannel::receive(int machine, int tag, void* values,
                                               std::size_t bytes) {
  auto operation = std::make_unique<Transfers>(hub_);
  operation->receive(machine, {number_, static_cast<std::uint16_t>(tag)},
                     static_cast<std::byte*>(values), bytes);
  return operation;
}

std::unique_ptr<Operation> TcpChannel::gather(const void* mine, std::size_t bytes, void* all) {
  auto operation = std::make_unique<Transfers>(hub_);
  operation->gather({number_, kGatherTag}, static_cast<const std::byte*>(mine), bytes,
                    static_cast<std::byte*>(all));
  return operation;
}

std::unique_ptr<Operation> TcpChannel::reduce(const void* mine, void* result, std::size_t elements,
                                              DataType type, Combine combine) {
  if (size_of(type) < sizeof(float)) {
    throw Error(ErrorCode::environment, "a reduction has an element type that is not for it",
                "This is a mistake in Syncopate");
  }
  const std::size_t bytes = elements * size_of(type);
  const bool by_parts = combine == Combine::sum && bytes >= hub_->machines() * kSmallestPart;
  if (!by_parts) {
    return std::make_unique<GatheredReduction>(hub_, Way{number_, kGatherTag}, mine, result,
                                               elements, type, combine);
  }
  // Values are only read where they are not the result's own.
  return std::make_unique<ReductionByParts>(
      *this, hub_,
      fabric::MachineSumVectors{
          .mine = const_cast<void*>(mine), .result = result, .elements = elements, .type = type});
}

}  // namespace syncopate::fabric::tcp
