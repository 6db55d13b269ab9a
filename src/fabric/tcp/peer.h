// The connection to one other machine: sends frames and receives them, never waits. What has to go
// out is kept here until the kernel takes it; of values only where they are is kept.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "fabric/tcp/inbound.h"
#include "fabric/tcp/matching.h"

namespace syncopate::fabric::tcp {

/// Messages for the agent, and from which machine each is.
class Inbox {
 public:
  void put(int from, std::vector<std::byte> message) {
    bytes_ += message.size() + kCosts;
    messages_.emplace_back(from, std::move(message));
  }
  /// The oldest; there is one.
  int take(std::vector<std::byte>& message) {
    const int from = messages_.front().first;
    message = std::move(messages_.front().second);
    messages_.pop_front();
    bytes_ -= message.size() + kCosts;
    return from;
  }
  void clear() {
    messages_.clear();
    bytes_ = 0;
  }
  bool empty() const { return messages_.empty(); }
  /// There are so many that nothing more is to be received before the agent has taken some.
  bool full() const { return bytes_ > kMost; }

 private:
  static constexpr std::size_t kMost = 64 << 20;
  static constexpr std::size_t kCosts = 128;  ///< Of a message, beside its bytes.

  std::deque<std::pair<int, std::vector<std::byte>>> messages_;
  std::size_t bytes_ = 0;
};

class Peer final : private FrameSink {
 public:
  /// A connection that has been proved to lead to `machine`. `staging` is memory that all peers
  /// share.
  Peer(int machine, base::Descriptor socket, const OpenChannels& channels, Inbox& inbox,
       std::vector<std::byte>& staging);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  int socket() const { return socket_.number(); }
  /// Nothing more comes from there or gets there: why. Empty as long as it works.
  const std::string& lost() const { return lost_; }
  /// It has said that it goes, and nothing is missing; or what it says makes no sense.
  bool gone() const { return gone_ || senseless_; }

  void send(std::vector<std::byte> message);
  void send(Way way, const TransferPointer& transfer);
  void receive(Way way, const TransferPointer& transfer);
  void forget(std::uint32_t channel);

  // Since the last time that the kernel had nothing, or took no more, it …
  void note_readable() { readable_ = true; }
  void note_writable() { writable_ = true; }
  /// Receives and sends what can be. Throws BadMessage.
  void advance();
  /// Whether there was no acknowledgment for so long that the machine must be out of reach.
  void look_after();

  /// Says that nothing more comes from here; what was to go out goes first.
  void say_bye();
  /// Whether all of it is with the kernel.
  bool sent_all() const { return !lost_.empty() || (frames_.empty() && !long_.any_sendable()); }

 private:
  /// Messages of an agent that lie here while the kernel takes none: more than any agent says.
  static constexpr std::size_t kMostKept = 64 << 20;

  struct Outgoing {
    Head head{};
    std::vector<std::byte> message;
    TransferPointer transfer;  ///< Whose values follow the head, instead of a message.
    std::size_t length = 0;    ///< Of what follows the head.
    std::size_t sent = 0;      ///< Head and all.

    bool whole() const { return sent == kHeadBytes + length; }
  };

  void begin(const Frame& frame) override;
  std::byte* payload() override;
  void end(const Frame& frame) override;

  void read();
  void hear(std::span<const std::byte> bytes, bool direct);
  void write();
  void put(const Frame& frame, std::vector<std::byte> message = {});
  /// Makes a frame of the next piece of long values, if there are any; whether there is one.
  bool take_piece();
  /// Drops frames whose values are gone; whether there is a frame to send.
  bool find_frame();
  int parts_of(const Outgoing& frame, iovec* parts) const;
  void note_sent(Outgoing& frame, std::size_t& bytes);
  void lose(std::string why);

  int machine_;
  base::Descriptor socket_;
  Inbox& inbox_;
  std::vector<std::byte>& staging_;
  Inbound inbound_;
  Receiving receiving_;
  LongSends long_;
  Frame::Kind coming_ = Frame::Kind::message;  ///< The frame that is under way …
  std::vector<std::byte> message_;             ///< … and, if it is a message, that.
  std::deque<Outgoing> frames_;
  std::size_t kept_ = 0;  ///< Bytes of messages in `frames_`.
  bool readable_ = true, writable_ = true;
  bool gone_ = false;
  bool senseless_ = false;  ///< What comes is not looked at anymore.
  std::string lost_;
};

}  // namespace syncopate::fabric::tcp
