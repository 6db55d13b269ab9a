// Handshakes on sockets, and those that came to nothing: what a failed meeting says of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "fabric/tcp/handshake.h"

namespace syncopate::fabric::tcp {

using Clock = std::chrono::steady_clock;

/// How long a handshake may take. What is slower costs a descriptor until then, and nothing else.
inline constexpr std::chrono::seconds kHandshakeTime{5};
/// Connections in the middle of theirs at one time. With more the oldest has to go.
inline constexpr std::size_t kMostStrangers = 64;

/// Sends and receives what can be, without waiting; false if the connection is broken.
bool advance(int socket, Handshake& handshake);

/// A connection that has yet to prove that it belongs here.
struct Stranger {
  base::Descriptor socket;
  Handshake handshake;
  Clock::time_point until;
};

/// Connections that came to nothing, for the error of a meeting that fails.
class TurnedAway {
 public:
  void note(const Handshake& handshake);
  void note_slow() { ++slow_; }
  void note_other() { ++secret_; }
  /// " (2 connections were turned away: 1 was too slow, …)"; empty if there were none.
  std::string describe() const;

 private:
  int silent_ = 0;
  int strange_ = 0;
  int version_ = 0;
  int secret_ = 0;
  int slow_ = 0;
  std::uint32_t their_protocol_ = 0;
};

}  // namespace syncopate::fabric::tcp
