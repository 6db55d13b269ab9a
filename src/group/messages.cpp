#include "group/messages.h"

#include "fabric/packet.h"

namespace syncopate::group {

using fabric::Packer;
using fabric::Unpacker;
using round::GroupMessage;

std::vector<std::byte> pack(const GroupMessage& message) {
  Packer packer;
  packer.put(message.kind)
      .put(message.round.step)
      .put(message.round.group)
      .put(message.member)
      .put(message.step)
      .put(message.seen)
      .put(message.staleness);
  for (const int rank : message.ranks) packer.put(rank);
  return packer.bytes();
}

GroupMessage unpack_group_message(std::span<const std::byte> bytes, int from) {
  Unpacker unpacker(bytes, from);
  GroupMessage message;
  message.kind = unpacker.take_enumerator(GroupMessage::Kind::all_missing);
  message.round.step = unpacker.take<std::uint64_t>();
  message.round.group = unpacker.take<int>();
  message.member = unpacker.take<int>();
  message.step = unpacker.take<std::uint64_t>();
  message.seen = unpacker.take<std::uint64_t>();
  message.staleness = unpacker.take<std::uint64_t>();
  while (!unpacker.rest().empty()) message.ranks.push_back(unpacker.take<int>());
  return message;
}

}  // namespace syncopate::group
