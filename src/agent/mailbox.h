// What the ranks of a machine and its agent tell each other beside the collectives, in a world of
// several machines. Lies on the board, behind the roster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "board/event.h"
#include "board/roster.h"
#include "syncopate/error.h"
#include "syncopate/rank_set.h"

namespace syncopate::detail {

/// What to do when a machine is lost.
inline constexpr const char* kStartAgain =
    "Start the job again; training can go on from its last checkpoint";

class AgentMailbox {
 public:
  static std::size_t bytes();
  AgentMailbox(std::byte* memory, const board::Roster& roster, board::Platform& platform);

  // From the ranks: there is something for the agent to look at.
  void call() { desk_.calls.signal(platform_); }
  board::Event& calls() { return desk_.calls; }

  // From the agent: what all machines have agreed on.
  board::Event& agreements() { return desk_.agreements; }
  std::uint64_t agreed() const { return desk_.agreements.number(); }
  void announce_agreement(std::uint64_t number) { desk_.agreements.announce(platform_, number); }
  /// Two proposals that differ, and who made them.
  struct Dispute {
    std::uint64_t number = 0;
    std::array<int, 2> ranks{};
    std::array<board::Proposal, 2> words{};
  };
  void announce_dispute(const Dispute& dispute);
  const Dispute* dispute(std::uint64_t number) const;

  // From the agent: ranks of other machines, by their numbers in the world.
  void note_dead(int number) { set(desk_.dead, number, true); }
  /// On all machines, this one included.
  RankSet dead() const;
  /// For whom everybody waits, as far as is known: for messages.
  void note_awaited(const RankSet& ranks);
  RankSet awaited() const { return all_of(desk_.awaited); }

  /// The agent cannot go on: whatever the ranks call next throws an Error with these words.
  void fail(const std::string& what_happened, const std::string& what_to_do);
  bool failed() const { return desk_.failed.load() != 0; }
  /// This rank, in this process, cannot go on: what it calls next throws this.
  void close(const Error& reason) { closed_ = reason; }
  /// Throws if the agent has failed, or is dead, or after close().
  void check() const;
  /// Whether this rank has been told so: it goes on without an agent.
  bool lost() const { return failed() || missed_; }

 private:
  using Bits = std::array<board::Shared<std::uint64_t>, board::kMaxWorldRanks / 64>;
  struct Desk {
    board::Event calls;
    board::Event agreements;
    board::Shared<std::uint64_t> disputed;  ///< The number of the dispute, once it is written.
    Dispute dispute;
    board::Shared<std::uint32_t> failed;
    std::array<char, 1024> what_happened;
    std::array<char, 512> what_to_do;
    Bits dead;
    Bits awaited;
  };
  static void set(Bits& bits, int number, bool value);
  RankSet all_of(const Bits& bits) const;

  Desk& desk_;
  const board::Roster& roster_;
  board::Platform& platform_;
  std::optional<Error> closed_;
  mutable bool missed_ = false;  ///< The agent was found to be gone.
};

}  // namespace syncopate::detail
