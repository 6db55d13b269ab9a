#include "partial/staged_sum.h"

#include <algorithm>

#include "board/layout.h"

namespace syncopate::detail {
namespace {

using board::Time;

/// Data move only while the agent looks, and a turn of the agent looks at much else.
constexpr int kLooks = 32;

}  // namespace

StagedSum::StagedSum(partial::MachineRounds& rounds, agent::TaskContext& context,
                     fabric::Combine combine)
    : rounds_(rounds),
      context_(context),
      piece_(length_of_pieces(context.topology.machines())),
      sum_(*context.channel, context.topology, rounds.board().shape.vector_bytes(), combine),
      stall_(context.roster, context.platform) {}

std::size_t StagedSum::length_of_pieces(std::size_t machines) const {
  const std::size_t size = size_of(rounds_.board().shape.type);
  const std::size_t longest = fabric::SumByParts::piece_bytes(machines) / size;
  // As many as there have to be, of one length, each beginning where something may on a board.
  const std::size_t count = std::max<std::size_t>((elements() + longest - 1) / longest, 1);
  const std::size_t unit = board::Layout::kUnit / size;
  return ((elements() + count - 1) / count + unit - 1) / unit * unit;
}

void StagedSum::open(partial::RoundNumber round, double divisor) {
  begun_ = 0;
  only_ = {};
  if (divisor == 1) only_ = rounds_.only_share(round);
  if (only_.values != nullptr) return;
  rounds_.board().stage.open(round, divisor);
  const int chunks = rounds_.board().results.buffers().chunking().count;
  if (const int helpers = board::helpers_to_wake(context_.roster, chunks); helpers > 0) {
    rounds_.board().signal_helpers(helpers);
  }
}

void* StagedSum::own_sum(std::size_t end, Time now) {
  if (only_.values != nullptr) return only_.values;
  partial::Stage& stage = rounds_.board().stage;
  const std::size_t chunk = rounds_.board().results.buffers().chunking().chunk;
  const board::AttemptWord attempt = stage.attempt();
  const board::Reduction::Outcome outcome = stage.help(attempt, static_cast<int>(begun_ / chunk),
                                                       static_cast<int>((end + chunk - 1) / chunk));
  if (outcome == board::Reduction::Outcome::complete) return stage.values(attempt);
  if (outcome == board::Reduction::Outcome::pending) {
    stall_.overcome(attempt, now, rounds_.board().event(), [&] { stage.retry(attempt); });
  }
  return nullptr;  // Of another attempt at the next look, if that has begun.
}

void StagedSum::advance(Time now, std::optional<double> scale) {
  for (int look = 0; look < kLooks && under_way_; ++look) under_way_ = !sum_.done(moves_);
  if (begun_ == elements() || under_way_) return;
  const std::size_t end = std::min(begun_ + piece_, elements());
  void* const own = own_sum(end, now);
  if (own == nullptr || !scale) return;
  const DataType type = rounds_.board().shape.type;
  void* const result = in_place() ? own : rounds_.result();
  sum_.begin({.mine = static_cast<std::byte*>(own) + begun_ * size_of(type),
              .result = static_cast<std::byte*>(result) + begun_ * size_of(type),
              .elements = end - begun_,
              .type = type,
              .scale = *scale},
             0);
  under_way_ = true;
  begun_ = end;
}

void StagedSum::place() {
  if (in_place()) rounds_.adopt(only_);
}

}  // namespace syncopate::detail
