#include "strategy/averaging.h"

#include <algorithm>

namespace syncopate::strategy {

Averaging::Averaging(const Training& training, std::size_t extra)
    : learner_(training.learner),
      ranks_(training.world.size()),
      rounds_(training.world, training.learner.size() + training.notes + extra,
              {.trigger = all(), .scale = Scale::weight}),
      gradient_(training.learner.size()),
      gathered_(training.notes + extra) {
  notes_.resize(training.notes);
  float* place = rounds_.slot();
  learner_.read_weights({place, learner_.size()});
  learner_.keep_weights_at(place);
}

void Averaging::begin_step() { learner_.write_gradient_to(gradient_.data()); }

void Averaging::end_step(Duration /*computing*/) {
  learner_.flush_gradient();
  learner_.step(gradient_, 1);
  for (std::size_t i = 0; i < notes_.size(); ++i) gathered_[i] += notes_[i];
  if (due(++steps_)) average();
}

void Averaging::average() {
  steps_ = 0;
  learner_.flush_weights();
  give(std::span(gathered_).subspan(notes_.size()));
  // The result is a mean by weight, and what is beside the weights is wanted as a plain sum.
  const double mine = weight();
  float* beside = rounds_.slot() + learner_.size();
  for (std::size_t i = 0; i < gathered_.size(); ++i) beside[i] = float(gathered_[i] / mine);
  const Rounds<float> rounds = rounds_.exchange(mine);
  const Round<float> round = rounds.front();
  const Receipt receipt = round.receipt();
  const std::span<const float> values = round.mean();
  adopt(values.first(learner_.size()));
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    gathered_[i] = float(values[learner_.size() + i] * receipt.weight);
  }
  seen_ = receipt.round;
  receive(std::span(gathered_).subspan(notes_.size()));
  learner_.exchanged({.number = before_ + seen_,
                      .agreed = true,
                      .notes = std::span(gathered_).first(notes_.size()),
                      .contributors = receipt.contributors.size(),
                      .mass = double(receipt.contributors.size()) / ranks_,
                      .included = receipt.included,
                      .waited = receipt.waited,
                      .waited_for = receipt.waited_for});
  std::fill(gathered_.begin(), gathered_.end(), 0.0F);
}

void Averaging::adopt(std::span<const float> weights) {
  // Everyone reads the same result; from here on each rank's weights go their own way.
  float* place = rounds_.slot();
  std::copy(weights.begin(), weights.end(), place);
  learner_.keep_weights_at(place);
}

void Averaging::finish() {
  if (steps_ > 0) average();
  learner_.keep_weights_at(nullptr);
  rounds_.leave();
}

StrategyState Averaging::save() const {
  return {.numbers = {{"rounds", double(before_ + seen_)}}, .vectors = {}};
}

void Averaging::load(const StrategyState& state) {
  before_ = std::uint64_t(state.numbers.at("rounds"));
}

}  // namespace syncopate::strategy
