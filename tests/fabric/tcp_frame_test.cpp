// Frames: what they hold comes back, what none may say is refused before anything is done about it,
// and values find the operations that wait for them however they are cut on the way.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/bad_message.h"
#include "fabric/tcp/frame.h"
#include "fabric/tcp/inbound.h"
#include "fabric/tcp/matching.h"

namespace syncopate::testing {
namespace {

using namespace fabric::tcp;
using Kind = Frame::Kind;
using Text = std::vector<std::byte>;

constexpr int kMachine = 4;

Text bytes(std::size_t count, int seed = 0) {
  Text result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = std::byte((i * 31 + std::size_t(seed)) & 0xff);
  return result;
}

Text packed(const Frame& frame, const Text& payload = {}) {
  const Head head = pack(frame);
  Text result(head.begin(), head.end());
  result.insert(result.end(), payload.begin(), payload.end());
  return result;
}

void refuse(const Frame& frame) {
  EXPECT_THROW(unpack_frame(pack(frame), kMachine), BadMessage)
      << int(frame.kind) << " " << frame.tag << " " << frame.length;
}

TEST(Frames, ComeBackAsTheyWere) {
  const std::vector<Frame> frames = {
      {.kind = Kind::message, .length = 5},
      {.kind = Kind::message, .length = 64 << 10},
      {.kind = Kind::values, .tag = 32767, .channel = UINT32_MAX},
      {.kind = Kind::ready, .length = kLongestValues},
      {.kind = Kind::piece, .tag = 3, .channel = 9, .length = kPiece},
      {.kind = Kind::bye}};
  for (const Frame& frame : frames) {
    const Frame back = unpack_frame(pack(frame), kMachine);
    EXPECT_EQ(back.kind, frame.kind);
    EXPECT_EQ(back.tag, frame.tag);
    EXPECT_EQ(back.channel, frame.channel);
    EXPECT_EQ(back.length, frame.length);
  }
}

TEST(Frames, ThatNoMachineMaySendAreRefused) {
  refuse({.kind = Kind::message, .length = (64 << 10) + 1});
  refuse({.kind = Kind::message, .tag = 1});
  refuse({.kind = Kind::message, .channel = 1});
  refuse({.kind = Kind::values, .length = kShortValues + 1});
  refuse({.kind = Kind::values, .tag = kAllTags});
  refuse({.kind = Kind::ready, .length = kShortValues});
  refuse({.kind = Kind::ready, .length = kLongestValues + 1});
  refuse({.kind = Kind::piece, .length = 0});
  refuse({.kind = Kind::piece, .length = kPiece + 1});
  refuse({.kind = Kind::bye, .length = 1});
  refuse({.kind = Kind(5)});
  Head odd = pack({.kind = Kind::bye});
  odd[1] = std::byte{1};
  EXPECT_THROW(unpack_frame(odd, kMachine), BadMessage);
}

/// Frames of values and pieces, and who waits for them.
struct Desk final : FrameSink {
  void begin(const Frame& frame) override { receiving.begin(frame); }
  std::byte* payload() override { return receiving.payload(); }
  void end(const Frame&) override { receiving.end(); }

  /// In parts of so many bytes; long payloads go where they belong.
  void hear(const Text& text, std::size_t part) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t room = std::min(part, text.size() - at);
      if (const auto direct = inbound.direct(); !direct.empty()) {
        const std::size_t count = std::min(room, direct.size());
        std::memcpy(direct.data(), text.data() + at, count);
        inbound.note_direct(count);
        at += count;
        continue;
      }
      inbound.take({text.data() + at, room});
      at += room;
    }
  }
  TransferPointer expect(Way way, Text& into) {
    auto transfer = std::make_shared<Transfer>(Transfer{.into = into.data(), .bytes = into.size()});
    receiving.expect(way, transfer);
    return transfer;
  }

  OpenChannels channels{.next = 2, .open = {1}};
  Receiving receiving{kMachine, channels};
  Inbound inbound{kMachine, *this};
};

/// `text` as pieces of so many bytes.
Text in_pieces(const Text& text, std::size_t length, Way way) {
  Text result;
  for (std::size_t at = 0; at < text.size(); at += length) {
    const std::size_t count = std::min(length, text.size() - at);
    const Text one =
        packed({.kind = Kind::piece, .tag = way.tag, .channel = way.channel, .length = count},
               {text.begin() + std::ptrdiff_t(at), text.begin() + std::ptrdiff_t(at + count)});
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

TEST(Values, ArriveHoweverTheyAreCut) {
  constexpr Way kWay{.channel = 1, .tag = 2};
  const Text small = bytes(100), large = bytes(kShortValues * 3 + 5, 1);
  Text stream =
      packed({.kind = Kind::values, .tag = 2, .channel = 1, .length = small.size()}, small);
  const Text pieces = in_pieces(large, 30'000, kWay);
  stream.insert(stream.end(), pieces.begin(), pieces.end());
  stream.insert(stream.end(), stream.begin(), stream.begin() + 116);  // The small one again.
  for (const std::size_t part : {1, 15, 16, 17, 5000, 1 << 20}) {
    Desk desk;
    Text one(small.size()), other(small.size()), long_one(large.size());
    const auto first = desk.expect(kWay, one);
    const auto middle = desk.expect(kWay, long_one);
    desk.hear(stream, part);
    EXPECT_TRUE(first->done);
    EXPECT_TRUE(middle->done);
    EXPECT_EQ(one, small);
    EXPECT_EQ(long_one, large);
    // This one came before it was asked for.
    EXPECT_TRUE(desk.expect(kWay, other)->done);
    EXPECT_EQ(other, small);
  }
}

TEST(Values, OfAnotherLengthThanExpectedAreRefused) {
  constexpr Way kWay{.channel = 1, .tag = 2};
  const Text small = bytes(100);
  const Text stream =
      packed({.kind = Kind::values, .tag = 2, .channel = 1, .length = small.size()}, small);
  Text shorter(99), large(kShortValues + 1);
  Desk late;
  late.expect(kWay, shorter);
  EXPECT_THROW(late.hear(stream, 1000), BadMessage);
  Desk early;
  early.hear(stream, 1000);
  EXPECT_THROW(early.expect(kWay, shorter), BadMessage);
  Desk piece;
  piece.expect(kWay, large);
  EXPECT_THROW(piece.hear(in_pieces(bytes(kShortValues + 2), kPiece, kWay), 1000), BadMessage);
}

TEST(Values, PiecesThatAreNotAskedForAreRefused) {
  Desk desk;
  EXPECT_THROW(desk.hear(in_pieces(bytes(10), 10, {.channel = 1, .tag = 0}), 100), BadMessage);
}

TEST(Values, OfAChannelThatIsOverGoNowhere) {
  Desk desk;  // Channel 0 was closed, and 1 is the last.
  desk.hear(packed({.kind = Kind::values, .channel = 0, .length = 10}, bytes(10)), 7);
  desk.hear(in_pieces(bytes(10), 10, {.channel = 0, .tag = 0}), 7);
  // One that is not open here yet may be some time.
  desk.hear(packed({.kind = Kind::values, .channel = 2, .length = 10}, bytes(10)), 7);
  Text later(10);
  EXPECT_TRUE(desk.expect({.channel = 2, .tag = 0}, later)->done);
  EXPECT_EQ(later, bytes(10));
}

TEST(Values, ThatNoOperationAsksForDoNotFillTheMemory) {
  Desk desk;
  const Text one =
      packed({.kind = Kind::values, .channel = 1, .length = kShortValues}, bytes(kShortValues));
  const auto flood = [&] {
    for (int i = 0; i < 10'000; ++i) desk.hear(one, one.size());
  };
  EXPECT_THROW(flood(), BadMessage);
  desk.receiving.forget(1);  // What was kept counts no longer.
  Desk other;
  other.hear(one, one.size());
}

TEST(Values, GivenUpInTheMiddleAreNotWrittenTo) {
  constexpr Way kWay{.channel = 1, .tag = 0};
  Desk desk;
  Text large(kShortValues * 2);
  const auto transfer = desk.expect(kWay, large);
  const Text stream = in_pieces(bytes(large.size(), 3), large.size(), kWay);
  desk.hear({stream.begin(), stream.begin() + 1000}, 100);
  transfer->given_up = true;
  std::ranges::fill(large, std::byte{0});
  desk.hear({stream.begin() + 1000, stream.end()}, 100);
  EXPECT_EQ(large, Text(large.size()));
}

TEST(LongSends, GoInTheOrderInWhichTheOtherIsReady) {
  LongSends sends(kMachine);
  const auto offer = [&](std::uint16_t tag, std::size_t length) {
    sends.offer({.channel = 1, .tag = tag}, std::make_shared<Transfer>(Transfer{.bytes = length}));
  };
  offer(0, 50'000);
  offer(1, 60'000);
  EXPECT_FALSE(sends.any_sendable());
  sends.note_ready({.channel = 1, .tag = 1}, 60'000);
  sends.note_ready({.channel = 1, .tag = 2}, 70'000);
  offer(2, 70'000);
  ASSERT_EQ(sends.sendable().size(), 2U);
  EXPECT_EQ(sends.sendable()[0].way.tag, 1);
  EXPECT_EQ(sends.sendable()[1].way.tag, 2);
  EXPECT_THROW(sends.note_ready({.channel = 1, .tag = 0}, 50'001), BadMessage);
}

}  // namespace
}  // namespace syncopate::testing
