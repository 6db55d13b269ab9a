// A rank's model and optimizer without any framework: weights in a vector, SGD with momentum by
// mass, anticipation, and a log of everything a strategy told it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "syncopate/strategy.h"

namespace syncopate::testing {

using Vector = std::vector<float>;

struct Rule {
  float rate = 0.1F;
  float momentum = 0;
};

class VectorLearner : public Learner {
 public:
  struct Told {
    Exchange exchange;
    Vector notes;
  };

  explicit VectorLearner(Vector weights, Rule rule = {})
      : rule_(rule),
        own_(std::move(weights)),
        velocity_(own_.size()),
        before_(own_),
        ahead_(own_.size()) {}

  std::size_t size() const override { return own_.size(); }
  void read_weights(std::span<float> into) const override {
    for (std::size_t i = 0; i < size(); ++i) into[i] = weights()[i];
  }
  void keep_weights_at(float* place) override {
    if (place == nullptr && place_ != nullptr) read_weights(own_);
    place_ = place;
    computing_ahead_ = false;
  }
  void write_gradient_to(float* place) override { gradient_ = place; }

  void step(std::span<const float> gradient, double mass) override {
    masses.push_back(mass);
    computing_ahead_ = false;
    read_weights(before_);
    // A whole step takes the plain rule, bit for bit.
    const bool whole = mass == 1;
    const float decay = whole ? rule_.momentum : float(std::pow(rule_.momentum, mass));
    const bool shorter = !whole && rule_.momentum > 0;
    const float rate = shorter ? rule_.rate * (1 - decay) / (1 - rule_.momentum) : rule_.rate;
    float* weights = place_ != nullptr ? place_ : own_.data();
    for (std::size_t i = 0; i < size(); ++i) {
      velocity_[i] = rule_.momentum > 0 ? decay * velocity_[i] + gradient[i] : gradient[i];
      weights[i] -= rate * velocity_[i];
    }
    if (on_step) on_step(gradient);
  }

  void anticipate(double mass) override {
    anticipated.push_back(mass);
    const auto times = float(mass / (masses.empty() ? 1 : masses.back()));
    for (std::size_t i = 0; i < size(); ++i) {
      ahead_[i] = weights()[i] + times * (weights()[i] - before_[i]);
    }
    computing_ahead_ = true;
  }

  bool has_momentum() const override { return rule_.momentum > 0; }

  void exchanged(const Exchange& exchange) override {
    told.push_back({exchange, Vector(exchange.notes.begin(), exchange.notes.end())});
    told.back().exchange.notes = {};
    if (on_exchange) on_exchange(told.back());
  }

  /// The master weights, and those at which the next gradient is to be computed.
  std::span<const float> weights() const {
    return {place_ != nullptr ? place_ : own_.data(), own_.size()};
  }
  std::span<const float> computing_at() const { return computing_ahead_ ? ahead_ : weights(); }
  std::span<float> gradient() { return {gradient_, own_.size()}; }
  bool keeps_its_own_weights() const { return place_ == nullptr; }
  Vector& velocity() { return velocity_; }
  void set_rate(float rate) { rule_.rate = rate; }

  std::vector<double> masses;       ///< Of each step.
  std::vector<double> anticipated;  ///< Mass, at the begin of each step.
  std::vector<Told> told;
  std::function<void(std::span<const float> gradient)> on_step;
  std::function<void(const Told&)> on_exchange;

 private:
  Rule rule_;
  Vector own_;
  float* place_ = nullptr;
  float* gradient_ = nullptr;
  Vector velocity_;
  Vector before_;  ///< The weights before the last step.
  Vector ahead_;   ///< Those that are anticipated.
  bool computing_ahead_ = false;
};

inline Vector to_vector(std::span<const float> values) { return {values.begin(), values.end()}; }

/// One step in which `write` puts the gradient in its place, given the weights to compute it at.
template <typename Write>
void take_step(Strategy& strategy, VectorLearner& learner, const Write& write,
               Duration computing = std::chrono::milliseconds(1)) {
  strategy.begin_step();
  write(learner.computing_at(), learner.gradient());
  strategy.end_step(computing);
}

}  // namespace syncopate::testing
