#include "strategy/gradient_reference.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "round/trigger.h"

namespace syncopate::testing {

Numbers some_gradient(int rank, int step, const Numbers& weights) {
  Numbers gradient;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    gradient.push_back(0.5 * weights[i] + std::sin(1.0 + rank + 3.0 * step + 7.0 * double(i)));
  }
  return gradient;
}

GradientReference::GradientReference(int ranks, Numbers weights, const ReferenceRule& rule,
                                     Gradient gradient)
    : ranks_(ranks),
      rule_(rule),
      gradient_(std::move(gradient)),
      initial_(std::move(weights)),
      velocity_(initial_.size()),
      steps_(ranks),
      seen_(ranks),
      board_(ranks) {}

bool GradientReference::window_allows() const {
  return *std::min_element(seen_.begin(), seen_.end()) + std::uint64_t(rule_.window) >=
         rounds() + 1;
}

bool GradientReference::starts_with(const std::set<int>& coming) const {
  const auto here = [&](int rank) { return board_[rank].has_value() || coming.contains(rank); };
  int count = 0;
  for (int rank = 0; rank < ranks_; ++rank) count += here(rank) ? 1 : 0;
  switch (rule_.trigger.kind) {
    case Trigger::Kind::all:
      return count == ranks_;
    case Trigger::Kind::first:
      return count > 0;
    case Trigger::Kind::count:
      return count >= rule_.trigger.count;
    case Trigger::Kind::majority:
      return here(round::draw(rule_.trigger.seed, rounds() + 1, ranks_, [](int) { return true; }));
  }
  return false;
}

Turn GradientReference::choose_turn(std::minstd_rand& random) const {
  for (;;) {
    const int rank = int(random() % unsigned(ranks_));
    if (late(rank)) return {rank};  // It is not waited for, and waits for none.
    if (!window_allows()) continue;
    std::set<int> turn{rank};
    if (starts_with(turn)) return {rank};
    // Others have to come too. Where the rank drawn decides, or a deposit lies there already, the
    // order among them would matter.
    if (rule_.trigger.kind == Trigger::Kind::majority || board_[rank]) continue;
    for (int other = 0; other < ranks_ && !starts_with(turn); ++other) {
      if (!late(other) && !board_[other]) turn.insert(other);
    }
    if (starts_with(turn)) return {turn.begin(), turn.end()};
  }
}

const Numbers& GradientReference::weights_of(int rank) const {
  return seen_[rank] == 0 ? initial_ : round(seen_[rank]).weights;
}

void GradientReference::play(const Turn& turn) {
  for (const int rank : turn) {
    const Numbers fresh = gradient_(rank, steps_[rank]++, weights_of(rank));
    if (late(rank) && !rule_.carries) {
      ++dropped_;
      continue;
    }
    std::optional<Deposit>& mine = board_[rank];
    if (!mine) mine = Deposit{.sum = Numbers(fresh.size()), .base = seen_[rank]};
    for (std::size_t i = 0; i < fresh.size(); ++i) mine->sum[i] += fresh[i];
    ++mine->gradients;
  }
  if (!late(turn.front())) {
    if (!starts_with({})) throw std::logic_error("a turn in which a rank waits for ever");
    run_round();
  }
  for (const int rank : turn) seen_[rank] = rounds();
}

void GradientReference::finish() { run_round(); }

void GradientReference::run_round() {
  ReferenceRound round{.mean = Numbers(initial_.size()),
                       .weights = rounds_.empty() ? initial_ : rounds_.back().weights};
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!board_[rank]) continue;
    const Deposit taken = *std::exchange(board_[rank], std::nullopt);
    round.contributors.insert(rank);
    round.gradients += taken.gradients;
    round.staleness = std::max(round.staleness, rounds() - taken.base);
    for (std::size_t i = 0; i < taken.sum.size(); ++i) round.mean[i] += taken.sum[i];
  }
  if (round.gradients > 0) {
    const double divisor = rule_.by_contributors ? double(round.contributors.size()) : ranks_;
    const int whole = rule_.whole > 0 ? rule_.whole : ranks_;
    const double mass = rule_.momentum_by_mass ? double(round.gradients) / whole : 1;
    const double decay = std::pow(rule_.momentum, mass);
    const double rate =
        rule_.momentum > 0 ? rule_.rate * (1 - decay) / (1 - rule_.momentum) : rule_.rate;
    for (std::size_t i = 0; i < round.mean.size(); ++i) {
      round.mean[i] /= divisor;
      velocity_[i] = (rule_.momentum > 0 ? decay * velocity_[i] : 0) + round.mean[i];
      round.weights[i] -= rate * velocity_[i];
    }
  }
  rounds_.push_back(std::move(round));
}

}  // namespace syncopate::testing
