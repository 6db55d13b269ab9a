#include "world/messages.h"

#include "fabric/packet.h"

namespace syncopate::world {

using fabric::Packer;
using fabric::Unpacker;

std::vector<std::byte> pack(const WorldMessage& message) {
  Packer packer;
  packer.put(message.kind).put(message.number);
  if (message.kind == WorldMessage::Kind::spread) packer.put(message.span);
  for (const int rank : message.ranks) packer.put(rank);
  return packer.bytes();
}

WorldMessage unpack_world_message(std::span<const std::byte> bytes, int from,
                                  const fabric::Topology& topology) {
  Unpacker unpacker(bytes, from);
  WorldMessage message;
  message.kind = unpacker.take_enumerator(WorldMessage::Kind::spread);
  message.number = unpacker.take<std::uint64_t>();
  const bool spread = message.kind == WorldMessage::Kind::spread;
  if (spread) message.span = unpacker.take_number(1, topology.machines(), "machines to tell");
  if (!spread && message.kind != WorldMessage::Kind::missing) unpacker.expect_end();
  while (!unpacker.rest().empty()) {
    const int rank = spread ? unpacker.take_number(0, topology.ranks() - 1, "a rank")
                            : unpacker.take_rank_of_sender(topology.machine_of);
    if (!message.ranks.empty() && rank <= message.ranks.back()) {
      unpacker.refuse("names ranks out of their order");
    }
    message.ranks.push_back(rank);
  }
  return message;
}

}  // namespace syncopate::world
