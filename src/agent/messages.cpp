#include "agent/messages.h"

#include "agent/heartbeat.h"
#include "fabric/doorbell.h"
#include "fabric/packet.h"

namespace syncopate::agent {

using fabric::Packer;
using fabric::Unpacker;

std::vector<std::byte> pack(const AgentMessage& message) {
  using Kind = AgentMessage::Kind;
  Packer packer;
  packer.put(message.kind).put(message.drowsy);
  if (message.kind == Kind::task) packer.put(message.task);
  const bool numbered =
      message.kind == Kind::dead || message.kind == Kind::way || message.kind == Kind::ping;
  if (numbered) packer.put(message.number);
  if (message.kind == Kind::ping || message.kind == Kind::pong) packer.put(message.asked);
  if (message.kind == Kind::pong) packer.put(message.told);
  return packer.put_bytes(message.rest).bytes();
}

AgentMessage unpack_agent_message(std::span<const std::byte> bytes, int from,
                                  const fabric::Topology& topology) {
  using Kind = AgentMessage::Kind;
  Unpacker unpacker(bytes, from);
  AgentMessage message;
  message.kind = unpacker.take_enumerator(Kind::way);
  message.drowsy = unpacker.take_flag();
  switch (message.kind) {
    case Kind::task:
      message.task = unpacker.take<std::uint64_t>();
      break;
    case Kind::dead:
      message.number = unpacker.take_rank_of_sender(topology.machine_of);
      break;
    case Kind::way:
      message.number = unpacker.take_number(0, fabric::Doorbell::kMostWays - 1, "a way");
      break;
    case Kind::ping:
      message.number = unpacker.take_number(0, Heartbeat::kMostHops, "a number of hops");
      message.asked = unpacker.take<std::int64_t>();
      break;
    case Kind::pong:
      message.asked = unpacker.take<std::int64_t>();
      message.told = unpacker.take<std::int64_t>();
      break;
    case Kind::failure:
    case Kind::bell:
      break;
  }
  message.rest = unpacker.rest();
  const bool has_more =
      message.kind == Kind::task || message.kind == Kind::failure || message.kind == Kind::bell;
  if (!has_more) unpacker.expect_end();
  return message;
}

}  // namespace syncopate::agent
