#include "strategy/averaging.h"

#include <algorithm>
#include <utility>

namespace syncopate::strategy {

Averaging::Averaging(const Training& training, std::size_t extra, std::uint64_t before)
    : learner_(training.learner),
      ranks_(training.world.size()),
      rounds_(training.world, training.learner.size() + training.notes + extra,
              {.trigger = all(), .scale = Scale::weight}),
      gradient_(training.learner.size()),
      kept_notes_(training.notes - training.unsaved_notes),
      gathered_(training.notes + extra),
      before_(before) {
  notes_.resize(training.notes);
  rounds_.keep_deposits();  // They are the model, which is to survive a failure.
  float* place = rounds_.slot();
  learner_.read_weights({place, learner_.size()});
  learner_.keep_weights_at(place);
}

// The weights must not stay on a board that goes away, whatever ended the training.
Averaging::~Averaging() { learner_.keep_weights_at(nullptr); }

void Averaging::begin_step() { learner_.write_gradient_to(gradient_.data()); }

void Averaging::end_step(Duration /*computing*/) {
  learner_.flush_gradient();
  learner_.step(gradient_, 1);
  for (std::size_t i = 0; i < notes_.size(); ++i) gathered_[i] += notes_[i];
  const bool hastens = std::exchange(hastens_, false);
  if (due(++steps_) || hastens) average();
}

double Averaging::prepare() {
  steps_ = 0;
  learner_.flush_weights();
  give(std::span(gathered_).subspan(notes_.size()));
  // The result is a mean by weight, and what is beside the weights is wanted as a plain sum.
  const double mine = weight();
  float* beside = rounds_.slot() + learner_.size();
  for (std::size_t i = 0; i < gathered_.size(); ++i) beside[i] = float(gathered_[i] / mine);
  return mine;
}

void Averaging::average() {
  const Rounds<float> rounds = rounds_.exchange(prepare());
  const Round<float> round = rounds.front();
  adopt(round, rounds_.slot());
  receive(std::span(gathered_).subspan(notes_.size()));
  tell(round.receipt());
}

void Averaging::adopt(const Round<float>& round, float* place) {
  const std::span<const float> values = round.mean();
  std::copy_n(values.begin(), learner_.size(), place);
  learner_.keep_weights_at(place);
  for (std::size_t i = 0; i < gathered_.size(); ++i) {
    gathered_[i] = float(values[learner_.size() + i] * round.receipt().weight);
  }
}

void Averaging::tell(const Receipt& receipt) {
  seen_ = receipt.round;
  const std::span<const float> notes = std::span(gathered_).first(notes_.size());
  learner_.noted(notes);
  learner_.exchanged({.number = before_ + seen_,
                      .agreed = true,
                      .notes = notes,
                      .contributors = receipt.contributors.size(),
                      .mass = double(receipt.contributors.size()) / ranks_,
                      .included = receipt.included,
                      .waited = receipt.waited,
                      .waited_for = receipt.waited_for});
  std::fill(gathered_.begin(), gathered_.end(), 0.0F);
}

void Averaging::stop() {
  if (std::exchange(stopped_, true)) return;
  stopping();
  // Ranks may have come to their ends at different steps: each gives what it has, and follows the
  // others until they have done so too.
  if (steps_ > 0) rounds_.start(prepare());
  rounds_.stop();
  last_.resize(learner_.size());
}

bool Averaging::follow() {
  if (rounds_.finished()) return false;
  for (const Round<float>& round : rounds_.wait()) {
    if (round.receipt().weight == 0) continue;
    adopt(round, last_.data());
    learner_.keep_weights_at(nullptr);
    tell(round.receipt());
  }
  return true;
}

void Averaging::finish() {
  stop();
  while (follow()) continue;
  learner_.keep_weights_at(nullptr);
}

void Averaging::Kept::describe(StateFields& state) {
  state.count("rounds", Sharing::same, rounds);
  // Ranks may take different numbers of steps between two averages.
  state.count("steps since average", Sharing::own, steps, kMostSteps);
  state.vector("notes", Sharing::pending, notes);
}

void Averaging::describe(StateFields& state) {
  Kept kept{
      .rounds = before_ + seen_, .steps = steps_, .notes = std::span(gathered_).first(kept_notes_)};
  kept.describe(state);
  if (!state.loading()) return;
  before_ = kept.rounds;
  steps_ = kept.steps;
}

}  // namespace syncopate::strategy
