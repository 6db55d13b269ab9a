// Takes the bytes that come over a connection apart into frames. Knows nothing of sockets, and
// keeps no payload: it asks where each belongs.
#pragma once

#include <cstddef>
#include <span>

#include "fabric/tcp/frame.h"

namespace syncopate::fabric::tcp {

/// What is told of frames: begin(), where its bytes go, end(), then the next.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  /// A frame begins. Throws BadMessage if it may not come now.
  virtual void begin(const Frame& frame) = 0;
  /// Where the payload of this frame goes, from its first byte on; null: nowhere.
  virtual std::byte* payload() = 0;
  virtual void end(const Frame& frame) = 0;
};

class Inbound {
 public:
  Inbound(int machine, FrameSink& sink) : machine_(machine), sink_(sink) {}

  /// Takes what has come. Throws BadMessage.
  void take(std::span<const std::byte> bytes);

  /// Where so much of what comes next belongs that it should be received there, and not be taken;
  /// else empty.
  std::span<std::byte> direct();
  /// So many bytes have come there.
  void note_direct(std::size_t bytes) { note_payload(bytes); }

 private:
  /// Less is not worth a call of the kernel for itself.
  static constexpr std::size_t kDirect = 16 << 10;

  void begin_frame();
  void note_payload(std::size_t bytes);

  int machine_;
  FrameSink& sink_;
  Head head_{};
  std::size_t head_bytes_ = 0;  ///< That have come; all of them while there is a payload.
  Frame frame_;
  std::size_t payload_bytes_ = 0;  ///< That have come.
};

}  // namespace syncopate::fabric::tcp
