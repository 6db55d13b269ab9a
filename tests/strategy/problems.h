// Two small problems whose optimum is known: a quadratic on which ranks disagree about everything
// but the optimum, and logistic regression on data that all ranks share.
#pragma once

#include <cmath>
#include <random>
#include <span>
#include <vector>

#include "strategy/learner.h"

namespace syncopate::testing {

/// Half the sum of curvature(rank, i) * (x_i - optimum_i)^2, without noise: any mixture of ranks'
/// work leads to the same optimum, so that a strategy comes as close to it as floats allow.
class Quadratic {
 public:
  Vector optimum() const { return {1, -2, 3, -4, 5}; }
  void add_gradient(int rank, std::span<const float> weights, std::span<float> gradient) const {
    const Vector best = optimum();
    for (std::size_t i = 0; i < best.size(); ++i) {
      const auto curvature = 1 + 0.5F * std::sin(float(rank) + 2 * float(i));
      gradient[i] += curvature * (weights[i] - best[i]);
    }
  }
};

/// The mean over samples of log(1 + exp(-y w·x)) and a ridge, which makes the optimum one.
class Logistic {
 public:
  static constexpr std::size_t kWeights = 4;
  static constexpr int kSamples = 240;
  static constexpr double kRidge = 0.1;

  Logistic() {
    std::minstd_rand random(7);
    std::normal_distribution<double> normal;
    for (int i = 0; i < kSamples; ++i) {
      std::vector<double> sample{1};
      double score = 0.5;
      for (std::size_t j = 1; j < kWeights; ++j) {
        sample.push_back(normal(random));
        score += double(j) * sample.back();
      }
      inputs_.push_back(std::move(sample));
      labels_.push_back(score + normal(random) > 0 ? 1 : -1);
    }
    find_optimum();
  }

  const Vector& optimum() const { return optimum_; }

  /// Adds `share` of the gradient of one sample; returns its loss.
  float add_gradient(std::int64_t sample, std::span<const float> weights, float share,
                     std::span<float> gradient) const {
    const std::vector<double>& input = inputs_[sample];
    double score = 0;
    for (std::size_t i = 0; i < kWeights; ++i) score += input[i] * weights[i];
    const double slope = -labels_[sample] / (1 + std::exp(labels_[sample] * score));
    for (std::size_t i = 0; i < kWeights; ++i) {
      gradient[i] += share * float(slope * input[i] + kRidge * weights[i]);
    }
    return float(std::log1p(std::exp(-labels_[sample] * score)));
  }

 private:
  /// By descending the whole gradient, which is as steep as its ridge at least.
  void find_optimum() {
    optimum_.assign(kWeights, 0);
    for (int step = 0; step < 3000; ++step) {
      Vector gradient(kWeights);
      for (int i = 0; i < kSamples; ++i) add_gradient(i, optimum_, 1.0F / kSamples, gradient);
      for (std::size_t i = 0; i < kWeights; ++i) optimum_[i] -= 0.2F * gradient[i];
    }
  }

  std::vector<std::vector<double>> inputs_;
  std::vector<int> labels_;
  Vector optimum_;
};

inline double distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double(a[i] - b[i]) * double(a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace syncopate::testing
