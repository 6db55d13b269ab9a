// How the ranks of a world agree on what they do next together: each proposes it, and waits until
// all have. On one machine the ranks compare their proposals; across machines the agents do
// (world/task.h).
#pragma once

#include <cstdint>
#include <string>

#include "agent/rank_mailbox.h"
#include "board/platform.h"
#include "board/proposals.h"
#include "board/roster.h"
#include "syncopate/policy.h"
#include "world/collective_spec.h"

namespace syncopate::world {

class Agreements {
 public:
  /// `timeout` may change between two agreements.
  Agreements(board::Roster& roster, board::Platform& platform, const Duration& timeout)
      : roster_(roster), platform_(platform), timeout_(timeout), proposals_(roster) {}
  /// The world has other machines, and this one an agent.
  void set_agent(agent::RankMailbox& agent) { agent_ = &agent; }

  /// Returns when all ranks propose the same. `description` says all that must be the same; where
  /// it differs, every rank gets Error(mismatch). `spec` is for the agents. After a timeout the
  /// proposal stands: the same may be proposed again.
  void agree(const std::string& description, const CollectiveSpec& spec = {});

 private:
  /// Whether the agreement is reached. Throws if ranks disagree.
  bool reached(std::uint64_t number, const board::Proposal& mine) const;
  /// Throws if a rank of this machine proposes something else.
  void compare(const board::Proposal& mine) const;
  [[noreturn]] void disagree(const char* mine, int rank, const char* theirs) const;

  board::Roster& roster_;
  board::Platform& platform_;
  const Duration& timeout_;
  board::Proposals proposals_;
  agent::RankMailbox* agent_ = nullptr;
};

}  // namespace syncopate::world
