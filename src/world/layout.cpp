#include "world/layout.h"

#include "agent/mailbox.h"
#include "board/imprint.h"
#include "group/board.h"
#include "group/shape.h"
#include "partial/shape.h"

namespace syncopate::world {

board::LayoutBehind layout_behind_roster() {
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
  hash = (hash ^ agent::AgentMailbox::bytes()) * 0x100000001b3;
  return board::LayoutBehind{hash};
}

}  // namespace syncopate::world
