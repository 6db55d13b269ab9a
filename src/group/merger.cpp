#include "group/merger.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "group/mean.h"
#include "kernel/kernel.h"

namespace syncopate::group {

using board::Term;

Merger::Merger(const Board& board, LateMerge late, const void* initial)
    : board_(board), late_(late) {
  if (late != LateMerge::keep) return;
  origin_.resize(board.shape.vector_bytes());
  if (!origin_.empty()) std::memcpy(origin_.data(), initial, origin_.size());
}

void Merger::sum(std::span<const Term> terms, double scale, void* out) const {
  board::weighted_sum(board_.shape.type, board_.shape.elements, terms, scale, out);
}

const void* Merger::own_weights() const {
  return board_.publications.values(board_.publications.newest(board_.participants.me()).slot);
}

void Merger::merge(RoundNumber step, int buffer, void* out) {
  const int lag = board_.publications.own_lag(step);
  if (late_ == LateMerge::keep) keep_step(step, lag);
  if (lag == 0) {
    const Term mean{.values = board_.results.buffers().values(buffer), .weight = 1};
    sum({&mean, 1}, 1, out);
  } else {
    merge_late(step, buffer, lag, out);
  }
  if (!origin_.empty()) std::memcpy(origin_.data(), out, origin_.size());
}

void Merger::merge_late(RoundNumber step, int buffer, int lag, void* out) const {
  const void* mean = board_.results.buffers().values(buffer);
  if (late_ == LateMerge::average) {
    const double members = board_.results.buffers().header(buffer).weight;
    const std::array<Term, 2> terms{Term{.values = mean, .weight = members},
                                    Term{.values = own_weights(), .weight = 1}};
    return sum(terms, mean_of(members + 1), out);
  }
  std::vector<Term> terms{{.values = mean, .weight = 1},
                          {.values = own_weights(), .weight = 1},
                          {.values = origin_.data(), .weight = -1}};
  const RoundNumber copy = step - std::uint64_t(lag);
  for (const Taken& taken : unseen_) {
    if (taken.step <= copy || taken.step == step) continue;
    terms.push_back({.values = taken.movement.data(), .weight = 1});
  }
  sum(terms, 1, out);
}

void Merger::keep_step(RoundNumber step, int lag) {
  // A round takes the newest weights it finds, and ours of this step are on the board: no round
  // will have older ones from now on that has not already.
  const auto oldest = board_.publications.oldest_copy_ahead();
  if (oldest && *oldest < step) {
    const std::array<Term, 2> terms{Term{.values = own_weights(), .weight = 1},
                                    Term{.values = origin_.data(), .weight = -1}};
    unseen_.push_back({step, std::vector<std::byte>(origin_.size())});
    sum(terms, 1, unseen_.back().movement.data());
  }
  // This round may still want those after its own copy of our weights.
  const RoundNumber seen = std::min(oldest.value_or(step), step - std::uint64_t(std::max(lag, 0)));
  while (!unseen_.empty() && unseen_.front().step <= seen) unseen_.pop_front();
}

}  // namespace syncopate::group
