#include "strategy/biased_sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace syncopate::strategy {

BiasedSampler::BiasedSampler(std::int64_t samples, double ratio, std::uint64_t seed, int rank)
    : ratio_(ratio),
      seed_(seed),
      rank_(rank),
      scores_(samples, std::numeric_limits<float>::infinity()),
      fresh_(samples),
      counts_(samples) {}

void BiasedSampler::note(std::span<const std::int64_t> samples, std::span<const float> losses) {
  for (std::size_t i = 0; i < samples.size(); ++i) {
    // A loss that is no number would stay in the table for ever.
    if (!std::isfinite(losses[i])) continue;
    fresh_[samples[i]] += losses[i];
    counts_[samples[i]] += 1;
  }
}

void BiasedSampler::give(std::span<float> sums) const {
  std::copy(fresh_.begin(), fresh_.end(), sums.begin());
  std::copy(counts_.begin(), counts_.end(), sums.begin() + std::ptrdiff_t(fresh_.size()));
}

void BiasedSampler::merge(std::span<const float> sums) {
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (const float count = sums[scores_.size() + i]; count > 0) scores_[i] = sums[i] / count;
  }
  std::fill(fresh_.begin(), fresh_.end(), 0.0F);
  std::fill(counts_.begin(), counts_.end(), 0.0F);
}

void BiasedSampler::begin_period(std::size_t wanted, bool slow) {
  wanted_ = std::clamp<std::size_t>(wanted, 1, scores_.size());
  slow_ = slow;
  draw();
}

void BiasedSampler::draw() {
  std::seed_seq seeds{seed_, seed_ >> 32, std::uint64_t(rank_), periods_, periods_ >> 32};
  ++periods_;
  std::mt19937_64 random(seeds);
  position_ = 0;
  order_.resize(scores_.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto candidates = std::min<std::size_t>(
      order_.size(), std::size_t(std::ceil(double(wanted_) * (slow_ ? ratio_ : 1))));
  for (std::size_t i = 0; i < candidates; ++i) {
    std::swap(order_[i], order_[i + random() % (order_.size() - i)]);
  }
  order_.resize(candidates);
  if (candidates <= wanted_) return;
  const auto last = order_.begin() + std::ptrdiff_t(wanted_);
  std::nth_element(order_.begin(), last, order_.end(),
                   [&](std::int64_t a, std::int64_t b) { return scores_[a] > scores_[b]; });
  order_.resize(wanted_);
  std::shuffle(order_.begin(), order_.end(), random);
}

std::vector<std::int64_t> BiasedSampler::next(std::size_t count) {
  std::vector<std::int64_t> samples;
  while (samples.size() < count) {
    if (position_ == order_.size()) draw();
    samples.push_back(order_[position_++]);
  }
  return samples;
}

void BiasedSampler::describe(StateFields& state) {
  constexpr double kMostLosses = 1e9;
  // Infinite where never seen.
  state.vector("losses", Sharing::same, scores_,
               {StateRange{}.least, std::numeric_limits<double>::infinity()});
  state.vector("fresh losses", Sharing::pending, fresh_);
  state.vector("loss counts", Sharing::pending, counts_, {0, kMostLosses});
  state.count("periods", Sharing::own, periods_);
}

}  // namespace syncopate::strategy
