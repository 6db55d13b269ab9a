// What the ranks of a machine and its agent tell each other beside the collectives, in a world of
// several machines: memory on the board, behind the roster. The agent uses it by its AgentMailbox
// (mailbox.h), each rank by a RankMailbox (rank_mailbox.h).
#pragma once

#include <array>
#include <cstdint>

#include "board/event.h"
#include "board/proposals.h"
#include "board/roster.h"
#include "board/shared.h"

namespace syncopate::agent {

/// Two proposals that differ, and who made them.
struct Dispute {
  std::uint64_t number = 0;
  std::array<int, 2> ranks{};
  std::array<board::Proposal, 2> words{};
};

/// Ranks of the world, as bits.
using RankBits = std::array<board::Shared<std::uint64_t>, board::kMaxWorldRanks / 64>;
inline RankSet ranks_in(const RankBits& bits, int world_size) {
  RankSet result(world_size);
  for (int rank = 0; rank < world_size; ++rank) {
    if ((bits[rank / 64].load_relaxed() >> (rank % 64) & 1) != 0) result.insert(rank);
  }
  return result;
}

/// All but the calls is written by the agent and read by the ranks.
struct AgentDesk {
  board::Event calls;       ///< Of ranks: there is something for the agent to look at.
  board::Event agreements;  ///< What all machines have agreed on; and whatever concerns all ranks.
  board::Shared<std::uint64_t> disputed;  ///< The number of the dispute, once it is written.
  Dispute dispute;
  board::Shared<std::uint32_t> failed;  ///< The agent cannot go on, once it is written why.
  std::array<char, 1024> what_happened;
  std::array<char, 512> what_to_do;
  RankBits dead;     ///< On other machines.
  RankBits awaited;  ///< For whom all ranks wait, as far as is known: for messages.
};

/// On the machine, with those of other machines that the agent has heard of.
inline RankSet dead_on_all_machines(const AgentDesk& desk, const board::Roster& roster) {
  RankSet result = roster.dead();
  for (const int rank : ranks_in(desk.dead, roster.world_size()).list()) result.insert(rank);
  return result;
}

}  // namespace syncopate::agent
