#include "support/odd_fabric.h"

#include <cstring>

namespace syncopate::testing {
namespace {

using fabric::Channel;
using fabric::Operation;

/// Keeps what was brought until it is gathered.
class Changed final : public Operation {
 public:
  Changed(std::shared_ptr<std::vector<std::byte>> brought, std::unique_ptr<Operation> operation)
      : brought_(std::move(brought)), operation_(std::move(operation)) {}
  bool done() override { return operation_->done(); }

 private:
  std::shared_ptr<std::vector<std::byte>> brought_;
  std::unique_ptr<Operation> operation_;
};

class OddChannel final : public Channel {
 public:
  OddChannel(std::unique_ptr<Channel> channel, Oddity& oddity)
      : channel_(std::move(channel)), oddity_(oddity) {}

  std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) override {
    auto brought = std::make_shared<std::vector<std::byte>>(bytes);
    if (bytes > 0) std::memcpy(brought->data(), mine, bytes);
    oddity_.touch(*brought);
    auto operation = channel_->gather(brought->data(), bytes, all);
    return std::make_unique<Changed>(std::move(brought), std::move(operation));
  }
  std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                    DataType type, fabric::Combine combine) override {
    return channel_->reduce(mine, result, elements, type, combine);
  }
  std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                  std::size_t bytes) override {
    return channel_->send(machine, tag, values, bytes);
  }
  std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                     std::size_t bytes) override {
    return channel_->receive(machine, tag, values, bytes);
  }

 private:
  std::unique_ptr<Channel> channel_;
  Oddity& oddity_;
};

class OddOpening final : public Operation {
 public:
  OddOpening(fabric::Fabric& fabric, std::unique_ptr<Channel>& into, Oddity& oddity)
      : operation_(fabric.open(opened_)), into_(into), oddity_(oddity) {}
  bool done() override {
    if (!operation_->done()) return false;
    if (opened_ != nullptr) into_ = std::make_unique<OddChannel>(std::move(opened_), oddity_);
    return true;
  }

 private:
  std::unique_ptr<Channel> opened_;
  std::unique_ptr<Operation> operation_;
  std::unique_ptr<Channel>& into_;
  Oddity& oddity_;
};

class OddFabric final : public fabric::Fabric {
 public:
  OddFabric(std::unique_ptr<fabric::Fabric> fabric, Oddity& oddity)
      : fabric_(std::move(fabric)), oddity_(oddity) {}

  void send(int machine, std::span<const std::byte> message) override {
    fabric_->send(machine, message);
  }
  int receive(std::vector<std::byte>& message) override {
    for (const auto& [to, words] : oddity_.take_messages()) fabric_->send(to, words);
    return fabric_->receive(message);
  }
  std::unique_ptr<Operation> open(std::unique_ptr<Channel>& into) override {
    return std::make_unique<OddOpening>(*fabric_, into, oddity_);
  }

 private:
  std::unique_ptr<fabric::Fabric> fabric_;
  Oddity& oddity_;
};

}  // namespace

std::unique_ptr<fabric::Fabric> odd(std::unique_ptr<fabric::Fabric> fabric, Oddity& oddity) {
  return std::make_unique<OddFabric>(std::move(fabric), oddity);
}

}  // namespace syncopate::testing
