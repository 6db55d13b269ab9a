// Wakes the agent of another machine. Nobody can sleep until a message of MPI comes, so agents look
// for messages now and then, and a message that comes in between would wait for the next look. A
// datagram goes after it, to a socket at which a thread of the other machine sleeps. It says
// nothing: one that is lost costs a nap, one that comes for nothing a look.
//
// Where machines have no IPv4 between them, or something in between lets nothing through, nothing
// rings. SYNCOPATE_DOORBELL=off does without; on, or nothing, with them.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "board/descriptor.h"

namespace syncopate::fabric {

inline constexpr const char* kDoorbellVariable = "SYNCOPATE_DOORBELL";

/// Whether there are to be any, as SYNCOPATE_DOORBELL says; throws Error if it makes no sense.
bool doorbells_wanted();

class Doorbell {
 public:
  /// `rung` is called on a thread of this bell's own whenever one of `machines` rings here.
  Doorbell(int machines, int own, std::function<void()> rung);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// What another machine has to learn to ring here; empty if nobody can.
  const std::vector<std::byte>& address() const { return address_; }
  void learn(int machine, std::span<const std::byte> address);
  /// Rings at a machine whose address is known, by all ways that may lead there.
  void ring(int machine);

  /// Which machines have rung for the first time since the last call, and by which way. They should
  /// be told (prefer()).
  std::vector<std::pair<int, int>> take_proven_ways();
  /// From now on rings there by this way alone.
  void prefer(int machine, int way);

 private:
  struct Ring {  ///< The datagram.
    std::uint64_t secret = 0;
    std::int32_t from = 0;
    std::int32_t way = 0;
  };
  struct Machine {
    std::uint64_t secret = 0;
    std::vector<std::pair<int, sockaddr_in>> ways;  ///< By their numbers.
  };
  void open();
  void listen();

  const int own_;
  const std::function<void()> rung_;
  const board::Descriptor socket_;
  const board::Descriptor end_;  ///< Readable once the listener is to end.
  std::uint64_t secret_ = 0;     ///< What does not know it did not mean us.
  std::uint64_t host_ = 0;       ///< The same for all who have one loopback.
  std::vector<std::byte> address_;
  std::vector<Machine> machines_;
  /// By machine, 1 + the way by which it has rung: 0 before that, kTold once taken.
  std::vector<std::atomic<int>> proven_;
  std::atomic<bool> any_proven_ = false;
  std::thread listener_;
};

}  // namespace syncopate::fabric
