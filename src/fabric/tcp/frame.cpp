#include "fabric/tcp/frame.h"

#include <cstring>

#include "fabric/packet.h"

namespace syncopate::fabric::tcp {
namespace {

std::uint64_t longest(Frame::Kind kind) {
  switch (kind) {
    case Frame::Kind::message:
      return Fabric::kLongestMessage;
    case Frame::Kind::values:
      return kShortValues;
    case Frame::Kind::ready:
      return kLongestValues;
    case Frame::Kind::piece:
      return kPiece;
    case Frame::Kind::bye:
      break;
  }
  return 0;
}

std::uint64_t shortest(Frame::Kind kind) {
  if (kind == Frame::Kind::ready) return kShortValues + 1;
  return kind == Frame::Kind::piece ? 1 : 0;
}

}  // namespace

Head pack(const Frame& frame) {
  Head head{static_cast<std::byte>(frame.kind)};
  std::memcpy(head.data() + 2, &frame.tag, sizeof frame.tag);
  std::memcpy(head.data() + 4, &frame.channel, sizeof frame.channel);
  std::memcpy(head.data() + 8, &frame.length, sizeof frame.length);
  return head;
}

Frame unpack_frame(std::span<const std::byte, kHeadBytes> head, int from) {
  Unpacker unpacker(head, from);
  Frame frame;
  frame.kind = unpacker.take_enumerator(Frame::Kind::bye);
  unpacker.take_number<std::uint8_t>(0, 0, "what is always 0");
  const bool of_channel = frame.kind == Frame::Kind::values || frame.kind == Frame::Kind::ready ||
                          frame.kind == Frame::Kind::piece;
  frame.tag = unpacker.take_number<std::uint16_t>(0, of_channel ? kAllTags - 1 : 0, "a tag");
  frame.channel = unpacker.take_number<std::uint32_t>(0, of_channel ? UINT32_MAX : 0, "a channel");
  frame.length = unpacker.take_number<std::uint64_t>(shortest(frame.kind), longest(frame.kind),
                                                     "the length of a frame");
  return frame;
}

}  // namespace syncopate::fabric::tcp
