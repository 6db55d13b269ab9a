#include "round/round_state.h"

#include <utility>

namespace syncopate::round {

RoundState::RoundState(const Trigger& rule, int rounds, Machines where, int own_machine,
                       std::uint64_t rounds_before)
    : trigger(rule),
      window(static_cast<std::uint64_t>(rounds)),
      machine(own_machine),
      machines(std::move(where)),
      next(rounds_before + 1),
      known(machines, rounds_before) {
  const int ranks = machines.size(machine);
  own = {.here = RankSet(ranks), .counting = RankSet(ranks), .seen = rounds_before};
  for (int rank = 0; rank < ranks; ++rank) own.counting.insert(rank);
}

void RoundState::begin() {
  coordinator = static_cast<int>(next % static_cast<unsigned>(machines.count()));
  if (trigger.kind == Trigger::Kind::majority) {
    // The machine of the drawn rank, going by what all machines know alike.
    if (const int rank = drawn(); rank >= 0) coordinator = machines.of(rank);
  }
  held_up = !window_allows();
  held_up_by = -1;
  waiting_since = open_since = kNever;
}

void RoundState::insert_absent(RankSet& ranks, int on) const {
  for (const int rank : machines.on(on)) {
    if (known.counts(rank) && !known.is_here(rank)) ranks.insert(rank);
  }
}

RankSet RoundState::missing() const {
  RankSet result(machines.ranks());
  if (!window_allows() && (held_up_by >= 0 || !coordinates())) {
    if (const int lags = known.who_lags(needed()); lags >= 0) result.insert(lags);
  } else if (trigger.kind == Trigger::Kind::majority) {
    if (const int rank = drawn(); rank >= 0 && !known.is_here(rank)) result.insert(rank);
  } else {
    for (int other = 0; other < machines.count(); ++other) insert_absent(result, other);
  }
  return result;
}

}  // namespace syncopate::round
