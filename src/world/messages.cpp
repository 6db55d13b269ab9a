#include "world/messages.h"

#include "fabric/packet.h"

namespace syncopate::detail {

using fabric::Packer;
using fabric::Unpacker;

std::vector<std::byte> pack(const WorldMessage& message) {
  Packer packer;
  packer.put(message.kind).put(message.number);
  for (const int rank : message.ranks) packer.put(rank);
  return packer.bytes();
}

WorldMessage unpack_world_message(std::span<const std::byte> bytes, int from,
                                  const fabric::Topology& topology) {
  Unpacker unpacker(bytes, from);
  WorldMessage message;
  message.kind = unpacker.take_enumerator(WorldMessage::Kind::missing);
  message.number = unpacker.take<std::uint64_t>();
  if (message.kind == WorldMessage::Kind::ask) unpacker.expect_end();
  while (!unpacker.rest().empty()) {
    const int rank = unpacker.take_rank_of_sender(topology.machine_of);
    if (!message.ranks.empty() && rank <= message.ranks.back()) {
      unpacker.refuse("names ranks out of their order");
    }
    message.ranks.push_back(rank);
  }
  return message;
}

}  // namespace syncopate::detail
