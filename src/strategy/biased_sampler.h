// Which samples a rank takes under biased local SGD. It keeps the last known loss of every sample;
// a slow rank, which can take few samples, takes those with high losses, a fast one all alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "syncopate/strategy_state.h"

namespace syncopate::strategy {

class BiasedSampler {
 public:
  /// `ratio`: a slow rank draws so many candidates for each sample that it takes.
  BiasedSampler(std::int64_t samples, double ratio, std::uint64_t seed, int rank);

  /// Losses that this rank has computed since the last merge.
  void note(std::span<const std::int64_t> samples, std::span<const float> losses);

  /// For the exchange: the sum of this rank's new losses for each sample, then their number.
  void give(std::span<float> sums) const;
  /// The same, summed over ranks. What was seen anew replaces what was known, higher or lower.
  void merge(std::span<const float> sums);

  /// Begins a period in which this rank takes about `wanted` samples.
  void begin_period(std::size_t wanted, bool slow);
  /// The next samples; a period that is used up begins again with other draws.
  std::vector<std::int64_t> next(std::size_t count);

  std::span<const float> scores() const { return scores_; }  ///< Infinite where never seen.
  /// For a checkpoint. What is loaded counts from the next period on.
  void describe(StateFields& state);

 private:
  void draw();

  double ratio_;
  std::uint64_t seed_;
  int rank_;
  std::vector<float> scores_;
  std::vector<float> fresh_;   ///< Sums of new losses.
  std::vector<float> counts_;  ///< How many there are.
  std::vector<std::int64_t> order_;
  std::size_t position_ = 0;
  std::size_t wanted_ = 0;
  bool slow_ = false;
  std::uint64_t periods_ = 0;
};

}  // namespace syncopate::strategy
