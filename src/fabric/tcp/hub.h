// All connections of this machine, and what the fabric and its channels do with them. The kernel
// tells which connections have news; one thread at a time asks (advance), and none waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/descriptor.h"
#include "fabric/fabric.h"
#include "fabric/tcp/peer.h"
#include "fabric/tcp/transfer.h"

namespace syncopate::fabric::tcp {

/// What a machine sends to itself.
class Loopback {
 public:
  void send(Way way, const TransferPointer& transfer);
  void receive(Way way, const TransferPointer& transfer);
  void forget(std::uint32_t channel);

 private:
  struct Waiting {
    std::deque<TransferPointer> sent, received;
  };
  void match(std::map<Way, Waiting>::iterator at);

  std::map<Way, Waiting> waiting_;
};

/// An operation that is made of several steps: it moves on whichever operation is asked for, as
/// other machines may wait for its next step first.
class Steps {
 public:
  virtual ~Steps() = default;
  /// Takes those that can be taken.
  virtual void take_steps() = 0;
};

class Hub {
 public:
  /// Of a machine alone.
  Hub() : Hub(0, std::vector<base::Descriptor>(1)) {}
  /// `connections` by machine; that of this machine is closed.
  Hub(int machine, std::vector<base::Descriptor> connections);
  /// Gets out what is to go, and waits for the other machines to go as well, but not for long.
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  int machine() const { return machine_; }
  int machines() const { return static_cast<int>(peers_.size()); }
  /// Readable while a connection has news.
  int descriptor() const { return events_.number(); }

  void send(int machine, std::span<const std::byte> message);
  /// Takes a message that has come; -1 if there is none. Throws MachineLost.
  int receive(std::vector<std::byte>& message);

  std::uint32_t open_channel();
  void close_channel(std::uint32_t channel);
  void send(int machine, Way way, const TransferPointer& transfer);
  void receive(int machine, Way way, const TransferPointer& transfer);

  /// Of an operation, from its beginning until it is complete.
  void add(Steps& steps) { steps_.push_back(&steps); }
  void remove(Steps& steps) { std::erase(steps_, &steps); }

  /// Sends and receives what can be. Throws BadMessage.
  void advance();
  /// Throws MachineLost, unless there are messages to be read first.
  void expect_all() const;

 private:
  static constexpr std::chrono::seconds kPatience{5};
  static constexpr std::chrono::milliseconds kLookAfterEvery{500};

  void note_events();
  void look_after_peers();
  void say_goodbye();

  const int machine_;
  base::Descriptor events_;
  OpenChannels channels_;
  Inbox inbox_;
  std::vector<std::byte> staging_;
  std::vector<std::unique_ptr<Peer>> peers_;  ///< Null at this machine's own place.
  Loopback loopback_;
  std::vector<Steps*> steps_;
  bool stepping_ = false;  ///< What is asked for is asked by them.
  std::chrono::steady_clock::time_point looked_after_;
};

}  // namespace syncopate::fabric::tcp
