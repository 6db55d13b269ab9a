// How an agent wakes the agents of other machines: an interface, as a simulated fabric has no
// sockets. The real one is the doorbell (doorbell.h).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace syncopate::fabric {

class Bell {
 public:
  virtual ~Bell() = default;
  /// What another machine has to learn to ring here; empty if none can.
  virtual const std::vector<std::byte>& address() const = 0;
  /// Throws BadMessage if that is no address.
  virtual void learn(int machine, std::span<const std::byte> address) = 0;
  /// Rings at a machine whose address is known, by all ways that may lead there.
  virtual void ring(int machine) = 0;
  /// Which machines have rung for the first time since the last call, and by which way. They should
  /// be told (prefer()).
  virtual std::vector<std::pair<int, int>> take_proven_ways() = 0;
  /// From now on rings there by this way alone.
  virtual void prefer(int machine, int way) = 0;
};

}  // namespace syncopate::fabric
