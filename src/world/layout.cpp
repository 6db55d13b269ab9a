// What the collectives and the agent of this build put on a board, for ranks of another build to be
// refused (board/imprint.h).
#include "agent/mailbox.h"
#include "board/imprint.h"
#include "group/shape.h"
#include "partial/shape.h"

namespace syncopate::board {

std::uint64_t layout_behind_roster() {
  constexpr int kRanks = 3;
  constexpr std::size_t kElements = 7;
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, on whole numbers.
  for (const int world_ranks : {kRanks, kRanks + 2}) {
    const partial::Shape partial{
        .elements = kElements, .ranks = kRanks, .world_ranks = world_ranks};
    const group::Shape group{.elements = kElements, .ranks = kRanks, .world_ranks = world_ranks};
    for (const std::size_t size : {partial.bytes(), group.bytes()}) {
      hash = (hash ^ size) * 0x100000001b3;
    }
  }
  hash = (hash ^ detail::AgentMailbox::bytes()) * 0x100000001b3;
  return hash;
}

}  // namespace syncopate::board
