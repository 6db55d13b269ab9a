#include "partial/receipts.h"

#include "base/bits.h"

namespace syncopate::partial {
namespace {

RankSet to_set(std::span<const std::uint64_t> words, int ranks) {
  RankSet set(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (bits::contains(words, rank)) set.insert(rank);
  }
  return set;
}

}  // namespace

Receipt Receipts::make(RoundNumber round) const {
  const board::Reduction& buffers = results_.buffers();
  const int buffer = results_.buffer_of(round);
  const board::ResultHeader& header = buffers.header(buffer);
  const int ranks = roster_.world_size();
  const int me = roster_.rank();
  Receipt receipt{.round = round,
                  .contributors = to_set(buffers.contributors(buffer), ranks),
                  .dropped = to_set(buffers.reporters(buffer), ranks),
                  .drops = header.dropped,
                  .staleness = header.staleness,
                  .weight = header.weight,
                  .last = header.last,
                  .dead = agent_.dead(roster_)};
  receipt.included = receipt.contributors.contains(me);
  if (round == awaited_round_ && waited_.count() > 0) {
    receipt.waited = waited_;
    const int blocked_by = starter_.blocked_by();
    receipt.waited_for = blocked_by >= 0 ? blocked_by : header.newest == me ? -1 : header.newest;
  }
  return receipt;
}

}  // namespace syncopate::partial
