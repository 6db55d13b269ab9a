// What machines say over a connection: frames, each with a head of sixteen bytes that says what
// follows. A head is checked before anything is done about it, memory taken above all.
//
// Values of a channel that are short go at once, and wait at the receiver if it is not ready. Long
// ones go when the receiver has said that it is, in pieces, straight to where they belong: so
// neither end ever keeps them, and short frames get in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/fabric.h"

namespace syncopate::fabric::tcp {

struct Frame {
  enum class Kind : std::uint8_t {
    message,  ///< From agent to agent.
    values,   ///< Of a channel: short ones, whole.
    ready,  ///< The sender waits for long values of this channel, tag and length. Nothing follows.
    piece,  ///< The next bytes of long values that the receiver is ready for.
    bye,    ///< The sender says nothing more. Nothing follows.
  };
  Kind kind = Kind::message;
  std::uint16_t tag = 0;      ///< With `values`, `ready` and `piece`.
  std::uint32_t channel = 0;  ///< The same.
  std::uint64_t length = 0;   ///< Bytes that follow; with `ready` those that are waited for.

  std::uint64_t payload() const { return kind == Kind::ready ? 0 : length; }
};

inline constexpr std::size_t kHeadBytes = 16;
using Head = std::array<std::byte, kHeadBytes>;

/// Longer values are sent when the receiver is ready for them.
inline constexpr std::size_t kShortValues = 32 << 10;
/// Long enough to be worth a call of the kernel, short enough for other frames to get in between.
inline constexpr std::size_t kPiece = 256 << 10;
inline constexpr std::uint64_t kLongestValues = std::uint64_t{1} << 48;
/// Tags that users of a channel have, and those of its own operations behind them.
inline constexpr int kTags = 1 << 15;
inline constexpr int kGatherTag = kTags;
inline constexpr int kReduceTag = kTags + 1;  ///< And the next one.
inline constexpr int kAllTags = kTags + 3;

Head pack(const Frame& frame);
/// Of a head that came from a machine. Throws BadMessage for what no machine may say.
Frame unpack_frame(std::span<const std::byte, kHeadBytes> head, int from);

}  // namespace syncopate::fabric::tcp
