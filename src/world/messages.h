// What agents say to each other about an agreement of all ranks (task.h), as bytes. What a message
// may hold is checked as it is unpacked, with BadMessage for what it may not. A change of anything
// here raises fabric::kProtocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/fabric.h"

namespace syncopate::world {

struct WorldMessage {
  enum class Kind : std::uint8_t {
    ask,      // from the coordinator: which of your ranks are missing?
    missing,  // these are
    waits,    // to the coordinator: none of mine, and they wait
    spread,   // from the coordinator: these of all ranks are; tell `span − 1` machines after you
  };
  Kind kind = Kind::ask;
  std::uint64_t number = 0;  ///< Of the agreement.
  int span = 0;              ///< With `spread`.
  std::vector<int> ranks;    ///< By their numbers in the world, in increasing order.
};
std::vector<std::byte> pack(const WorldMessage& message);
WorldMessage unpack_world_message(std::span<const std::byte> bytes, int from,
                                  const fabric::Topology& topology);

}  // namespace syncopate::world
