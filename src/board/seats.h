// The memory of a roster, at the start of a board: a seat per rank of the machine, with its
// process, its life and what it has proposed last. Roster and Proposals are a rank's views of it;
// the launcher, which has no seat, uses it as it is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "board/event.h"
#include "board/imprint.h"
#include "board/platform.h"
#include "board/shared.h"

namespace syncopate::board {

inline constexpr int kMaxRanks = 1024;
/// In a world of several machines.
inline constexpr int kMaxWorldRanks = 16384;

enum class Life : std::uint8_t {
  absent,   // has not joined yet
  present,  // takes part
  left,     // went in good order
  dead,     // ended without leaving
};

/// What a rank is about to make, in words that must be the same on all ranks. Words, so that a
/// disagreement can be shown as it is.
using Proposal = std::array<char, 256>;
/// What goes with a proposal and need not be compared.
using Attachment = std::array<std::byte, 192>;

struct alignas(64) Seat {
  std::uint32_t rank;  ///< In the world.
  Shared<std::uint64_t> pid;
  Shared<std::uint64_t> started;
  Shared<std::uint64_t> proposed;        ///< The number of the newest proposal.
  Shared<std::uint8_t> in_vain;          ///< Its last wait ended in a timeout.
  Shared<std::uint32_t> core;            ///< Where it waits, plus one; 0 if that is not known.
  std::array<std::uint64_t, 2> digests;  ///< Of the proposals: equal for equal words.
  /// Alternating, so that a rank one proposal ahead does not overwrite what others compare.
  std::array<Proposal, 2> proposals;
  std::array<Attachment, 2> attachments;
  Cores::Mask cores;

  ProcessId process() const {
    return {.pid = static_cast<std::uint32_t>(pid.load()), .started = started.load()};
  }
};

class Seats {
 public:
  static std::size_t bytes(int ranks);
  /// Writes the header into zeroed memory, before any rank joins: for a machine whose ranks have
  /// these numbers in a world of `world_ranks`.
  static void prepare(std::byte* memory, std::span<const int> numbers, int world_ranks,
                      LayoutBehind behind = {});
  /// The same for a world of one machine.
  static void prepare(std::byte* memory, int ranks, LayoutBehind behind = {});
  /// The number of ranks, if `memory` holds a board of this build; throws Error otherwise.
  static int ranks_on(const std::byte* memory, LayoutBehind behind = {});

  /// On memory that is prepared.
  explicit Seats(std::byte* memory);

  int size() const { return size_; }
  int world_size() const { return static_cast<int>(header_->world_ranks); }
  Seat& operator[](int local_rank) const { return seats_[local_rank]; }
  /// A rank joined, proposed, left or died.
  Event& event() const { return header_->event; }

  Life life(int local_rank) const { return static_cast<Life>(lives_[local_rank].load()); }
  /// Whether the rank is not dead, as far as this core has heard: for the price of a cached word.
  bool counted_on(int local_rank) const {
    return lives_[local_rank].load_relaxed() != static_cast<std::uint8_t>(Life::dead);
  }
  /// Changes the rank's life if it is `from`, and tells those who wait.
  void set_life(int local_rank, Life from, Life to, Platform& platform) const;
  /// The rank's process has ended: what the launcher knows.
  void gone(int local_rank, Platform& platform) const;

 private:
  struct Header {
    Imprint imprint;
    std::uint32_t ranks;
    std::uint32_t world_ranks;
    Event event;
  };

  static std::size_t seats_offset();
  static std::size_t lives_offset(int ranks);

  Header* header_;
  int size_;
  Seat* seats_;
  Shared<std::uint8_t>* lives_;  ///< Packed: read often, written almost never.
};

}  // namespace syncopate::board
