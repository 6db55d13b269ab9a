#include "partial/messages.h"

#include "fabric/packet.h"

namespace syncopate::detail {
namespace {

using fabric::Packer;
using fabric::Unpacker;
using round::Message;

void put_set(Packer& packer, const RankSet& ranks, int count) {
  for (int rank = 0; rank < count; rank += 8) {
    std::uint8_t byte = 0;
    for (int bit = 0; bit < 8; ++bit) byte |= ranks.contains(rank + bit) ? 1 << bit : 0;
    packer.put(byte);
  }
}

RankSet take_set(Unpacker& unpacker, int count) {
  RankSet ranks(count);
  for (int rank = 0; rank < count; rank += 8) {
    const auto byte = unpacker.take<std::uint8_t>();
    for (int bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) == 0) continue;
      if (rank + bit >= count) unpacker.refuse("names a rank that there is not");
      ranks.insert(rank + bit);
    }
  }
  return ranks;
}

}  // namespace

std::vector<std::byte> pack(const Message& message, const round::Machines& machines, int from) {
  const int ranks = machines.size(from);
  Packer packer;
  packer.put(message.kind).put(message.round);
  switch (message.kind) {
    case Message::Kind::start:
      packer.put(message.span).put(message.root);
      break;
    case Message::Kind::facts:
      packer.put(message.facts.waits).put(message.facts.seen).put(message.facts.slowest);
      put_set(packer, message.facts.here, ranks);
      put_set(packer, message.facts.counting, ranks);
      break;
    case Message::Kind::ask:
      packer.put(message.waited).put(message.drawn);
      break;
    case Message::Kind::missing:
      packer.put(message.span).put(message.root);
      put_set(packer, message.ranks, machines.ranks());
      break;
  }
  return packer.bytes();
}

Message unpack_message(std::span<const std::byte> bytes, int from,
                       const round::Machines& machines) {
  const int ranks = machines.size(from);
  Unpacker unpacker(bytes, from);
  Message message;
  message.kind = unpacker.take_enumerator(Message::Kind::missing);
  message.round = unpacker.take<std::uint64_t>();
  switch (message.kind) {
    case Message::Kind::start:
      message.span = unpacker.take<int>();
      message.root = unpacker.take<int>();
      break;
    case Message::Kind::facts:
      message.facts.waits = unpacker.take_flag();
      message.facts.seen = unpacker.take<std::uint64_t>();
      message.facts.slowest = unpacker.take_number(-1, ranks - 1, "the slowest of its ranks");
      message.facts.here = take_set(unpacker, ranks);
      message.facts.counting = take_set(unpacker, ranks);
      break;
    case Message::Kind::ask:
      message.waited = unpacker.take_flag();
      message.drawn = unpacker.take_number(-1, machines.ranks() - 1, "the rank that is drawn");
      break;
    case Message::Kind::missing:
      message.span = unpacker.take<int>();
      message.root = unpacker.take<int>();
      message.ranks = take_set(unpacker, machines.ranks());
      break;
  }
  unpacker.expect_end();
  return message;
}

}  // namespace syncopate::detail
