// Brings together what comes from a machine with the operations that wait for it here, and what is
// sent there with what that machine is ready for. Values with one tag are matched in their order,
// short and long ones apart: both machines know how long each is.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <vector>

#include "fabric/tcp/frame.h"
#include "fabric/tcp/transfer.h"

namespace syncopate::fabric::tcp {

/// What comes from one machine.
class Receiving {
 public:
  Receiving(int machine, const OpenChannels& channels) : machine_(machine), channels_(channels) {}

  /// Values are waited for. They may be here already.
  void expect(Way way, const TransferPointer& transfer);
  /// Nothing of this channel is waited for any longer.
  void forget(std::uint32_t channel);

  // As of FrameSink, with frames of values and pieces.
  void begin(const Frame& frame);
  std::byte* payload();
  void end();

 private:
  /// Short values for which no operation waits yet are kept, up to so many bytes.
  static constexpr std::size_t kMostEarly = 64 << 20;
  /// What one costs beside its bytes.
  static constexpr std::size_t kEarlyCosts = 128;
  struct Waiting {
    std::deque<TransferPointer> short_ones, long_ones;
    std::deque<std::vector<std::byte>> early;
  };

  static bool is_long(std::size_t bytes) { return bytes > kShortValues; }
  void begin_values(const Frame& frame);
  void begin_piece(const Frame& frame);
  void drop_if_empty(Way way);
  void fill(Transfer& transfer, const std::vector<std::byte>& values) const;

  int machine_;
  const OpenChannels& channels_;
  std::map<Way, Waiting> waiting_;
  std::size_t early_bytes_ = 0;
  // The frame that is coming:
  Frame frame_;
  TransferPointer current_;  ///< Where it goes; null: to `early_`, or nowhere.
  std::vector<std::byte> early_;
  bool ignored_ = false;
};

/// What goes to one machine and is long: it waits until that machine is ready.
class LongSends {
 public:
  explicit LongSends(int machine) : machine_(machine) {}

  void offer(Way way, const TransferPointer& transfer);
  /// The machine is ready for so many bytes.
  void note_ready(Way way, std::uint64_t bytes);
  void forget(std::uint32_t channel);

  struct Next {
    Way way;
    TransferPointer transfer;
  };
  /// What may be sent now, in the order in which it may; they are the caller's to take.
  std::deque<Next>& sendable() { return sendable_; }
  bool any_sendable() const { return !sendable_.empty(); }

 private:
  /// More than this is not sensible, however many channels and tags there are.
  static constexpr std::size_t kMostReady = 1 << 16;
  struct Waiting {
    std::deque<TransferPointer> offered;
    std::deque<std::uint64_t> ready;
  };
  void match(std::map<Way, Waiting>::iterator at);

  int machine_;
  std::map<Way, Waiting> waiting_;
  std::size_t ready_ = 0;
  std::deque<Next> sendable_;
};

}  // namespace syncopate::fabric::tcp
