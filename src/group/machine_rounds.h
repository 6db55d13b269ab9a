// The rounds of groups that span machines, as the agent of a machine runs them: it chooses the
// publications of its machine's members, sums them up, and publishes the mean that the machines of
// the group made together. One thread does all of it.
//
// Invariants
// 1. Only the agent runs these rounds, so they need no second attempts. If the agent's process
//    dies, its machine is lost.
//      check: Results::publish_alone                  test: GroupSums on machines
// 2. The agent holds the buffer of a result until the result is published (results.h 2).
//      check: Results::let_go                         test: ABufferIsTheAgentsUntilItPublishes…
#pragma once

#include <cstdint>
#include <vector>

#include "group/board.h"

namespace syncopate::group {

class MachineRounds {
 public:
  MachineRounds(std::byte* memory, const Shape& shape, const board::Roster& roster,
                board::Platform& platform);

  Board& board() { return board_; }
  const Board& board() const { return board_; }

  /// What this machine's members bring to a round.
  struct Share {
    std::vector<int> contributors;  ///< By their numbers in the world.
    std::uint64_t staleness = 0;
    std::vector<board::Term> terms;  ///< Their weights, which stay until the result is published.
  };
  Share choose(const LocalGroup& where);

  /// Where this machine's sum is, and then the mean.
  struct Reserved {
    int buffer = kNoBuffer;         ///< On the board …
    std::vector<std::byte> unread;  ///< … or here, if no rank of this machine will read it.
  };
  /// A place on the board; false if there is none at the moment.
  bool reserve(const LocalGroup& where, Reserved& place);
  /// A place beside the board.
  void set_aside(Reserved& place) const { place.unread.resize(board_.shape.vector_bytes()); }
  void* values(Reserved& place) const {
    return place.buffer == kNoBuffer ? place.unread.data()
                                     : board_.results.buffers().values(place.buffer);
  }
  /// What the machines say of a result.
  struct Said {
    std::vector<int> contributors;  ///< By their numbers in the world.
    std::uint64_t staleness = 0;
    void add(const std::vector<int>& ranks, std::uint64_t oldest);
  };
  /// Publishes the mean in its place, if any rank of this machine is to read it.
  void publish(const LocalGroup& where, const Reserved& place, const Said& said);

 private:
  Board board_;
  const board::Roster& roster_;
  board::Platform& platform_;
};

}  // namespace syncopate::group
