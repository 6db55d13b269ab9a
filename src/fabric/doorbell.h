// Wakes the agent of another machine. No thread can sleep until a message of MPI comes, so agents
// look for messages now and then, and a message that comes in between would wait for the next look.
// A datagram goes after it, to a socket at which a thread of the other machine sleeps. It says
// nothing: one that is lost costs a nap, one that comes for nothing a look.
//
// It listens only at the addresses by which this machine reaches the others, and at the loopback
// if they are on the same host. A datagram without the bell's secret, which machines have told each
// other over the fabric, is dropped, and none is ever answered by a datagram.
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

#include "base/descriptor.h"
#include "fabric/addresses.h"
#include "fabric/bell.h"
#include "fabric/fabric.h"

namespace syncopate::fabric {

inline constexpr const char* kDoorbellVariable = "SYNCOPATE_DOORBELL";

/// Whether there are to be any, as SYNCOPATE_DOORBELL says; throws Error if it makes no sense.
bool doorbells_wanted();

/// Where the bell of a machine has to listen to be heard by the others.
std::vector<in_addr_t> doorbell_addresses(const Topology& topology);

class Doorbell final : public Bell {
 public:
  /// `rung` is called on a thread of this bell's own whenever one of `machines` rings at one of
  /// the addresses of this host (in network order).
  Doorbell(int machines, int own, const std::vector<in_addr_t>& addresses,
           std::function<void()> rung);
  ~Doorbell() override;
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  /// More addresses than this of one machine are not tried: those of its host, and the loopback.
  static constexpr int kMostWays = kMostAddresses + 1;

  const std::vector<std::byte>& address() const override { return address_; }
  void learn(int machine, std::span<const std::byte> address) override;
  void ring(int machine) override;
  std::vector<std::pair<int, int>> take_proven_ways() override;
  void prefer(int machine, int way) override;

  /// The datagram: which machine rings, for a bell with that secret.
  struct Ring {
    std::uint64_t secret = 0;
    std::int32_t from = 0;
    std::int32_t unused = 0;
  };
  /// Who rings, of so many machines; -1 if the datagram is no ring for the bell with that secret.
  static int who_rings(std::span<const std::byte> datagram, std::uint64_t secret, int machines);

 private:
  /// Where this bell listens.
  struct Ear {
    in_addr_t address = 0;
    base::Descriptor socket;
  };
  struct Way {
    int number = 0;   ///< With the other machine.
    int socket = -1;  ///< Of this one, which leads there.
    sockaddr_in where{};
  };
  struct Machine {
    std::uint64_t secret = 0;
    std::vector<Way> ways;
  };
  void open();
  void listen();
  int socket_towards(in_addr_t address) const;

  const int own_;
  const std::function<void()> rung_;
  const std::vector<Ear> ears_;
  const base::Descriptor end_;  ///< Readable once the listener is to end.
  std::uint64_t secret_ = 0;    ///< What does not know it did not mean us.
  std::uint64_t host_ = 0;      ///< The same for all who have one loopback.
  std::vector<std::byte> address_;
  std::vector<Machine> machines_;
  /// By machine, 1 + the way by which it has rung: 0 before that, kTold once taken.
  std::vector<std::atomic<int>> proven_;
  std::atomic<bool> any_proven_ = false;
  std::thread listener_;
};

}  // namespace syncopate::fabric
