// A channel of the fabric: a number in each frame. Gatherings and reductions are made of values
// sent between all machines. Every machine adds up in the order of machines, or gets what the one
// has added up whose part it is (sum_by_parts.h): so all have the same bits.
#pragma once

#include <memory>

#include "fabric/fabric.h"
#include "fabric/tcp/hub.h"

namespace syncopate::fabric::tcp {

class TcpChannel final : public Channel {
 public:
  explicit TcpChannel(std::shared_ptr<Hub> hub)
      : hub_(std::move(hub)), number_(hub_->open_channel()) {}
  ~TcpChannel() override { hub_->close_channel(number_); }
  TcpChannel(const TcpChannel&) = delete;
  TcpChannel& operator=(const TcpChannel&) = delete;

  std::unique_ptr<Operation> gather(const void* mine, std::size_t bytes, void* all) override;
  std::unique_ptr<Operation> reduce(const void* mine, void* result, std::size_t elements,
                                    DataType type, Combine combine) override;
  std::unique_ptr<Operation> send(int machine, int tag, const void* values,
                                  std::size_t bytes) override;
  std::unique_ptr<Operation> receive(int machine, int tag, void* values,
                                     std::size_t bytes) override;

 private:
  std::shared_ptr<Hub> hub_;
  std::uint32_t number_;
};

}  // namespace syncopate::fabric::tcp
