// The agent's side of what it and the ranks of its machine tell each other (desk.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/desk.h"
#include "board/event.h"
#include "board/roster.h"
#include "syncopate/rank_set.h"

namespace syncopate::agent {

/// What to do when a machine is lost.
inline constexpr const char* kStartAgain =
    "Start the job again; training can go on from its last checkpoint";

class AgentMailbox {
 public:
  static std::size_t bytes() { return sizeof(AgentDesk); }
  AgentMailbox(std::byte* memory, const board::Roster& roster, board::Platform& platform)
      : desk_(*reinterpret_cast<AgentDesk*>(memory)), roster_(roster), platform_(platform) {}

  /// From the ranks: there is something for the agent to look at.
  board::Event& calls() { return desk_.calls; }

  // To the ranks: what all machines have agreed on, or not.
  void announce_agreement(std::uint64_t number) { desk_.agreements.announce(platform_, number); }
  void announce_dispute(const Dispute& dispute);

  // To the ranks: about ranks of other machines, by their ranks in the world.
  void note_dead(int rank) { set(desk_.dead, rank, true); }
  /// For whom all ranks wait, as far as is known.
  void note_awaited(const RankSet& ranks);
  /// On all machines, this one included.
  RankSet dead() const { return dead_on_all_machines(desk_, roster_); }

  /// The agent cannot go on: whatever the ranks call next throws an Error with these words.
  void fail(const std::string& what_happened, const std::string& what_to_do);

 private:
  static void set(RankBits& bits, int rank, bool value);

  AgentDesk& desk_;
  const board::Roster& roster_;
  board::Platform& platform_;
};

}  // namespace syncopate::agent
