// Where a partial allreduce lies on the board, and what each part of it is. This is the only place
// that knows addresses. What may be done with the words, and by whom, is the subject of the classes
// beside it:
//   words, slots   deposits.h        a rank's deposits (contributions.h: what rounds take)
//   attempt        attempts.h        the sum that is made now (running_round.h, stage.h)
//   ring           results.h         results that ranks have not seen yet
//   seen, blocked  window.h          how far the ranks have read
//   the others     participants.h    who takes part, who waits
//
// Invariants
// 1. Every part begins on a cache line of its own. A rank writes to a line of another only where
//    the protocol says so: the decide word, the attempt word, the ring, the event.
//      check: Memory (the memory is aligned)              test: tests/board/segment_test.cpp
// 2. Buffers have fewer numbers than an attempt word can tell, and none has that of kOwnResults.
//      check: Memory                                      test: Words.KeepAttempts
// 3. A slot and a buffer are used by one rank or round at a time; deposits.h 4 and results.h 3 say
//    by which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board/event.h"
#include "board/grace_clock.h"
#include "board/platform.h"
#include "board/reduction.h"
#include "board/relocations.h"
#include "board/shared.h"
#include "board/words.h"
#include "partial/shape.h"

namespace syncopate::partial {

using board::AttemptWord;
using board::DecideWord;
using board::RoundNumber;
using board::Shared;
using board::Time;

inline constexpr int kNoSlot = -1;
inline constexpr int kNoBuffer = -1;
/// Stands for the buffer of a round of which each rank has a result of its own (pair_runner.h). No
/// world of two ranks has so many buffers.
inline constexpr int kOwnResults = board::kMostBuffers - 1;

/// What every waiting rank reads.
struct alignas(128) News {
  board::Event event;             ///< Announces each published round.
  Shared<std::uint64_t> latest;   ///< Its ring entry, to spare readers a cache line.
  Shared<std::uint32_t> blocked;  ///< A rank waits until others release results.
};

/// What ranks touch that run rounds; the ring follows it.
struct Control {
  Shared<std::uint64_t> attempt;  ///< AttemptWord: the round that runs now.
  board::GraceClock opened;       ///< When the trigger of the next round was first seen to hold.
  Shared<RoundNumber>
      slowest;  ///< A bound on what every rank has seen, which one rank found for all.
  Shared<std::uint32_t> abandoned;  ///< An attempt was given up: its buffer may be in use.
  Shared<double> stage_divisor;     ///< Of a machine's own sum (stage.h).
  Shared<Time> taken_at;            ///< When the agent last took deposits.
};

/// What a rank says of itself.
struct alignas(64) RankState {
  Shared<RoundNumber> seen;     ///< It has read all rounds up to this one.
  Shared<RoundNumber> waiting;  ///< The round that it waits for; 0: none.
  Shared<std::int64_t> step_time;
  Shared<std::uint32_t> dropped;  ///< Since its last deposit, for the last round to report.
  Shared<std::uint32_t> reading;  ///< It may be reading a deposit of its own.
};

/// What goes with a deposit. Frozen while the deposit is on the board, but for the time of a firm
/// one's arrival, which is noted a moment later. Small enough to share a cache line with a small
/// vector.
struct Note {
  enum class Values : std::uint32_t {
    none,    // an arrival without values
    plain,   // count `weight` times in the sum
    merged,  // are a weighted sum already (of float16: part of one, see factor())
  };
  Shared<RoundNumber> firm;  ///< The round that the deposit is sure to be in (pair_runner.h).
  Shared<double> weight;     ///< What the deposit adds to the total weight.
  Shared<RoundNumber> base;  ///< The last round that its model had seen.
  Shared<Time> arrived;
  Shared<Values> values;
  Shared<std::uint32_t> dropped;  ///< Deposits that were dropped since this rank's last report.

  bool has_values() const { return values.load_relaxed() != Values::none; }
  /// How often the values count in the sum.
  double factor(DataType type) const;
};

/// Pointers into the memory of one collective.
class Memory {
 public:
  static constexpr int kSlots = 4;  ///< Written, deposited, read by a round, and a merged one.

  Memory(std::byte* memory, const Shape& shape);
  static std::size_t bytes(const Shape& shape);

  News* news;
  Control* control;
  Shared<std::uint64_t>* words;          ///< A DecideWord per rank.
  Shared<std::uint64_t>* arrivals;       ///< Arrivals over all rounds; beside the words.
  Shared<std::uint8_t>* participations;  ///< Packed: read often, written twice.
  RankState* ranks;                      ///< One per rank.
  Shared<std::uint64_t>* ring;           ///< AttemptWord of each published round.

  Note& note(int rank, int slot) const { return *reinterpret_cast<Note*>(head(rank, slot)); }
  /// The note and, if they share its cache line, the values.
  std::byte* head(int rank, int slot) const {
    return slots_ + (std::size_t(rank) * kSlots + slot) * slot_bytes_;
  }
  void* values(int rank, int slot) const {
    return slot_relocations_.find(rank * kSlots + slot, head(rank, slot) + values_offset_);
  }
  /// Where the note is that goes with these values, unless they were moved.
  const std::byte* head_of(const void* values) const {
    return static_cast<const std::byte*>(values) - values_offset_;
  }
  void move_values(int rank, int slot, const void* to) const {
    slot_relocations_.move(rank * kSlots + slot, to);
  }

  /// The buffers that results are summed up in.
  board::Reduction make_reduction(const Shape& shape, const board::Roster& roster) const;

 private:
  struct Plan;
  Memory(std::byte* memory, const Shape& shape, const Plan& plan);

  std::byte* memory_;
  std::byte* slots_;
  std::size_t slot_bytes_;
  std::size_t values_offset_;
  board::Relocations slot_relocations_;  ///< Of the slots' values, where the agent runs rounds.
};

}  // namespace syncopate::partial
