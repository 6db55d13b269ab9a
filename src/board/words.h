// The words of the protocol: several small fields in 64 bits, changed together by one
// compare-and-swap. Round numbers have 52 bits or more: at a million rounds per second they
// last for 142 years.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace syncopate::board {

using RoundNumber = std::uint64_t;

/// Result buffers of one collective at most: their number has eleven bits.
inline constexpr int kMostBuffers = 2048;

/// Whether a field holds the value: what does not fit would spill over into the next field.
constexpr bool fits(int value, int most) { return value >= 0 && value <= most; }

/// One per rank. What the rank has on the board, and what the rounds have decided about it.
/// A round decides about a rank by changing `decided` from its predecessor to itself, and takes
/// the deposit in the same step: each decision is made once, by the rank that comes first.
struct DecideWord {
  RoundNumber decided = 0;  ///< The last round that has decided about this rank.
  int taken = 0;            ///< Slot + 1 that this round took; 0: none.
  int deposit = 0;          ///< Slot + 1 that no round has taken yet; 0: none.

  static DecideWord unpack(std::uint64_t word) {
    return {.decided = word >> 8, .taken = int(word >> 4 & 15), .deposit = int(word & 15)};
  }
  std::uint64_t pack() const {
    SYNCOPATE_CHECK(decided >> 56 == 0 && fits(taken, 15) && fits(deposit, 15), "words.h");
    return decided << 8 | std::uint64_t(taken) << 4 | std::uint64_t(deposit);
  }
};

/// The round that runs now (or ran last) and the result buffer of its newest attempt.
struct AttemptWord {
  RoundNumber round = 0;
  bool last = false;  ///< The round that finish() runs for everyone.
  int buffer = 0;

  static AttemptWord unpack(std::uint64_t word) {
    return {.round = word >> 12, .last = (word >> 11 & 1) != 0, .buffer = int(word & 2047)};
  }
  std::uint64_t pack() const {
    SYNCOPATE_CHECK(round >> 52 == 0 && fits(buffer, kMostBuffers - 1), "words.h");
    return round << 12 | std::uint64_t(last) << 11 | std::uint64_t(buffer);
  }
};

/// One per chunk of a result buffer.
struct ChunkWord {
  enum class Phase : std::uint8_t {
    idle,     // no rank writes to it
    claimed,  // `rank` writes to it, for `tag`; no other may, unless that rank is dead
    done,     // it holds the result of `tag`
  };
  std::uint64_t tag = 0;  ///< Which use of the buffer this is about.
  Phase phase = Phase::idle;
  int rank = 0;

  static ChunkWord unpack(std::uint64_t word) {
    return {.tag = word >> 12, .phase = Phase(word >> 10 & 3), .rank = int(word & 1023)};
  }
  std::uint64_t pack() const {
    SYNCOPATE_CHECK(tag >> 52 == 0 && fits(rank, 1023), "words.h");
    return tag << 12 | std::uint64_t(phase) << 10 | std::uint64_t(rank);
  }
};

/// One per member of a group round: which of the member's publications the round uses.
struct MemberWord {
  enum class Phase : std::uint8_t {
    open,       // no rank has looked yet
    proposed,   // this one, if it is still the member's newest when that is checked
    confirmed,  // this one
    absent,     // the member is gone: the round does without it
  };
  RoundNumber round = 0;
  Phase phase = Phase::open;
  int lag = 0;  ///< Steps between this round and the publication.
  int slot = 0;

  static MemberWord unpack(std::uint64_t word) {
    return {.round = word >> 12,
            .phase = Phase(word >> 10 & 3),
            .lag = int(word >> 2 & 255),
            .slot = int(word & 3)};
  }
  std::uint64_t pack() const {
    SYNCOPATE_CHECK(round >> 52 == 0 && fits(lag, 255) && fits(slot, 3), "words.h");
    return round << 12 | std::uint64_t(phase) << 10 | std::uint64_t(lag) << 2 | std::uint64_t(slot);
  }
};

}  // namespace syncopate::board
