// Who is in the world of one machine: a seat per rank with its process and its state, and the
// place where ranks agree on each collective before it is made. Lies at the start of the
// segment. Nothing here is ever locked; a rank may die at any point.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "board/event.h"
#include "board/imprint.h"
#include "board/origin.h"
#include "board/platform.h"
#include "board/shared.h"
#include "syncopate/rank_set.h"

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

class Roster {
 public:
  /// The rank of a machine whose process has the agent's thread, where there are several machines.
  static constexpr int kAgentsRank = 0;

  static std::size_t bytes(int ranks);
  /// Writes the header into zeroed memory, before anybody joins.
  static void prepare(std::byte* memory, int ranks);
  /// The same for a machine whose ranks have these numbers in a world of `world_ranks`.
  static void prepare(std::byte* memory, std::span<const int> numbers, int world_ranks);
  /// The number of ranks, if `memory` holds a board of this build; throws Error otherwise.
  static int ranks_on(const std::byte* memory);

  Roster(std::byte* memory, int local_rank, Platform& platform);

  // What is said of a rank is asked by its local rank; messages name it by its rank in the world.
  int local_rank() const { return local_rank_; }
  int local_size() const { return local_size_; }
  int rank_of(int local_rank) const { return static_cast<int>(seats_[local_rank].rank); }
  int rank() const { return rank_of(local_rank_); }
  int world_size() const { return static_cast<int>(header_.world_ranks); }
  /// Whether the world has other machines.
  bool across() const { return world_size() != local_size_; }

  /// Takes the seat; throws Error if a live process has it already, or others have given it up.
  void join(const ProcessId& process);
  void leave();

  /// Whether this is the process that has made the roster, and not a fork of it.
  bool same_process() const { return origin_.here(); }
  /// Whether the others still count on this rank. (They may be wrong about a rank that lives.)
  bool counted_on() const {
    return lives_[local_rank_].load_relaxed() != static_cast<std::uint8_t>(Life::dead);
  }
  /// Whether this process may change the board on behalf of its rank.
  bool may_speak() const { return same_process() && counted_on(); }
  /// Throws Error unless this process may speak for its rank. What a rank calls asks this before it
  /// changes anything, while it waits, and before it trusts what it has read: for a rank that they
  /// take for dead the others wait no longer. Costs two words that stay in the cache.
  void check_seat() const {
    if (!may_speak()) [[unlikely]]
      refuse_seat();
  }

  Life life(int local_rank) const { return static_cast<Life>(lives_[local_rank].load()); }
  /// Whether waiting for `rank` makes sense: it is there, or may still come.
  bool expected(int local_rank) const {
    const Life life_now = life(local_rank);
    return life_now == Life::present || life_now == Life::absent;
  }
  bool dead(int local_rank) const { return life(local_rank) == Life::dead; }
  /// Whether its process is gone, though it has left and nobody waits for it.
  bool left_and_gone(int local_rank) const {
    return life(local_rank) == Life::left && !platform_.alive(local_rank, process_of(local_rank));
  }
  /// Those of this machine, by their numbers in the world.
  RankSet dead() const;

  /// Asks the host about every present rank; returns whether a death was found.
  bool look_after();
  /// Notes the end of a rank from outside: what the launcher knows.
  void gone(int local_rank);
  /// "rank 3 (pid 4711, stopped)".
  std::string describe(int local_rank) const;

  /// How the last wait of this rank ended. After a timeout, what it waited for may never come.
  void note_wait(bool in_vain) const {
    Shared<std::uint8_t>& mine = seats_[local_rank_].in_vain;
    if ((mine.load_relaxed() != 0) != in_vain) mine.store(in_vain ? 1 : 0);
  }
  bool waited_in_vain(int local_rank) const { return seats_[local_rank].in_vain.load() != 0; }

  /// Proposes the next thing to do together; returns its number, 1, 2, 3 …
  std::uint64_t propose(const Proposal& proposal, const Attachment& attachment = {});
  /// After a timeout the proposal stays on the table: the same may be proposed again.
  void leave_on_the_table() { unanswered_ = true; }
  /// Proposes the next thing to do together and waits until every expected rank has proposed
  /// its own. Returns its number, 1, 2, 3 …; throws Error(timeout) naming the missing.
  std::uint64_t agree(const Proposal& proposal, Time deadline);
  /// What a rank proposed instead with that number; null if it agrees, or is gone.
  const Proposal* disagreement(int local_rank) const;
  /// Whether `rank` has yet to make its proposal of that number.
  bool awaits_proposal(int local_rank, std::uint64_t number) const {
    return expected(local_rank) && seats_[local_rank].proposed.load() < number;
  }
  /// "rank 3 (pid 4711, stopped), rank 5 (…)": those whose proposal is awaited.
  std::string describe_awaited(std::uint64_t number) const;
  /// Whether every expected rank has made its proposal of that number; and what one of them said.
  bool all_proposed(std::uint64_t number) const;
  const Proposal& proposal(int local_rank, std::uint64_t number) const {
    return seats_[local_rank].proposals[number % 2];
  }
  const Attachment& attachment(int local_rank, std::uint64_t number) const {
    return seats_[local_rank].attachments[number % 2];
  }

  /// Whether the ranks outnumber the cores they may run on.
  bool oversubscribed() const;
  /// Cores that the present ranks may run on, together.
  int cores() const;

 private:
  struct Header {
    Imprint imprint;
    std::uint32_t ranks;
    std::uint32_t world_ranks;
    Event event;  ///< A rank joined, proposed, left or died.
  };
  struct alignas(64) Seat {
    std::uint32_t rank;  ///< In the world.
    Shared<std::uint64_t> pid;
    Shared<std::uint64_t> started;
    Shared<std::uint64_t> proposed;        ///< The number of the newest collective proposed.
    Shared<std::uint8_t> in_vain;          ///< Its last wait ended in a timeout.
    std::array<std::uint64_t, 2> digests;  ///< Of the proposals: equal for equal words.
    /// Alternating, so that a rank one collective ahead does not overwrite what others compare.
    std::array<Proposal, 2> proposals;
    std::array<Attachment, 2> attachments;
    Cores::Mask cores;
  };

  static std::size_t seats_offset();
  static std::size_t lives_offset(int ranks);
  void set_life(int local_rank, Life from, Life to);
  bool all_agree() const;
  ProcessId process_of(int local_rank) const;
  [[noreturn]] void refuse_seat() const;

  Header& header_;
  Seat* seats_;
  Shared<std::uint8_t>* lives_;  ///< Packed: read often, written almost never.
  Platform& platform_;
  Origin origin_;
  int local_rank_;
  int local_size_;
  std::uint64_t proposed_ = 0;
  bool unanswered_ = false;  ///< The last wait for the others' proposals timed out.
  mutable int cores_ = 0;    ///< Known once everybody has joined.
};

}  // namespace syncopate::board
