// Where a group average lies on the board, and what each part of it is. This is the only place that
// knows addresses; what may be done with the words, and by whom, is the subject of the classes
// beside it:
//
//   ranks, left         participants.h   who takes part, who waits
//   seen, news          window.h         how far the ranks are
//   publication, slots  publications.h   a rank's newest weights
//   reservations, uses  results.h        the buffers of results
//   records, members    rounds.h         the round of each group and step
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "board/event.h"
#include "board/grace_clock.h"
#include "board/platform.h"
#include "board/reduction.h"
#include "board/shared.h"
#include "board/words.h"
#include "group/shape.h"

namespace syncopate::group {

using board::AttemptWord;
using board::MemberWord;
using board::RoundNumber;
using board::Shared;
using board::Time;

inline constexpr int kNoSlot = -1;
inline constexpr int kNoBuffer = -1;

/// A group at a step, with its members on this machine.
struct LocalGroup {
  RoundNumber step = 0;
  int group = 0;
  std::span<const int> members{};  ///< In increasing order, counted within the machine.
};

/// A rank's newest weights. (A slot has two bits, as in MemberWord.)
struct Publication {
  RoundNumber step = 0;
  int slot = 0;

  static Publication unpack(std::uint64_t word) {
    return {.step = word >> 2, .slot = int(word & 3)};
  }
  std::uint64_t pack() const { return step << 2 | std::uint64_t(slot); }
};

/// For whom a result buffer was taken last.
struct Reservation {
  /// In the hands of an agent, whatever the ranks have seen, and though none of them may live.
  static constexpr RoundNumber kHeld = (RoundNumber{1} << 54) - 1;

  RoundNumber step = 0;
  int rank = 0;

  static Reservation unpack(std::uint64_t word) {
    return {.step = word >> 10, .rank = int(word & 1023)};
  }
  std::uint64_t pack() const { return step << 10 | std::uint64_t(rank); }
};

/// What concerns all groups.
struct alignas(64) News {
  board::Event releases;            ///< Ranks have caught up.
  Shared<RoundNumber> elsewhere;    ///< What every rank of the other machines has seen.
  Shared<std::uint32_t> blocked;    ///< A rank waits for others to catch up.
  Shared<std::uint32_t> abandoned;  ///< An attempt was given up: buffers may be in use.
};

/// The round of a group at a step.
struct alignas(64) Record {
  Shared<std::uint64_t> attempt;  ///< AttemptWord: its newest attempt.
  Shared<std::uint64_t> done;     ///< AttemptWord: the attempt that was published.
  board::GraceClock opened;       ///< When a member first found it incomplete.
  board::Event event;             ///< Its start, its end, a publication of a member.
};

/// What a rank says of itself.
struct alignas(64) RankState {
  Shared<RoundNumber> seen;           ///< It has been through all steps up to this one.
  Shared<std::uint64_t> publication;  ///< Publication.
  Shared<RoundNumber> waiting;        ///< The step whose mean it waits for, for the agent.
  Shared<std::int64_t> step_time;     ///< Typical, for grace in proportion to it.
};

/// Pointers into the memory of one collective.
class Memory {
 public:
  static constexpr int kSlots = 4;  ///< Worked on, published, and two that rounds may read.

  Memory(std::byte* memory, const Shape& shape);
  static std::size_t bytes(const Shape& shape);

  News* news;
  RankState* ranks;                     ///< One per rank.
  Shared<std::uint8_t>* left;           ///< One per rank. Packed: read often, written once.
  Shared<std::uint64_t>* reservations;  ///< A Reservation per buffer.
  Shared<std::uint64_t>* uses;          ///< Per buffer: how often it was taken.

  Record& record(const LocalGroup& where) const {
    return records_[(where.step % depth_) * groups_ + where.group];
  }
  std::span<Record> records() const { return {records_, depth_ * groups_}; }
  /// What the round of a step uses of a member.
  Shared<std::uint64_t>& member_word(RoundNumber step, int rank) const {
    return members_[(step % depth_) * ranks_count_ + rank];
  }
  /// The group that a buffer was taken for, as bits.
  std::span<Shared<std::uint64_t>> users(int buffer) const {
    return {users_ + buffer * user_words_, user_words_};
  }
  void* values(int rank, int slot) const {
    return slots_ + (std::size_t(rank) * kSlots + slot) * slot_bytes_;
  }

  /// The buffers that results are summed up in.
  static board::Reduction make_reduction(std::byte* memory, const Shape& shape,
                                         const board::Roster& roster);

 private:
  struct Plan;
  Memory(std::byte* memory, const Shape& shape, const Plan& plan);

  Record* records_;
  Shared<std::uint64_t>* members_;
  Shared<std::uint64_t>* users_;
  std::byte* slots_;
  std::size_t slot_bytes_;
  std::size_t user_words_;
  std::size_t depth_;
  std::size_t groups_;
  std::size_t ranks_count_;
};

}  // namespace syncopate::group
