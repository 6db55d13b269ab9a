// Which samples a rank takes, where the strategy does not choose: every epoch a new shuffle of all,
// of which each rank takes its own share. Ranks may be in different epochs; each share is gone
// through once. Samples are numbered onwards in each epoch, so that pictures can be disturbed anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace syncopate::train {

/// Samples that were drawn for a step, numbered onwards as the sampler numbers them in an epoch: in
/// each step the same picture is disturbed in another way. `count`: samples in the training set.
std::vector<std::int64_t> number_onwards(std::vector<std::int64_t> drawn, std::uint64_t step,
                                         std::int64_t count);

class EpochSampler {
 public:
  EpochSampler(std::int64_t samples, int rank, int ranks, std::uint64_t seed);

  /// From here on so many samples that follow each other are about equally much work, as they would
  /// be padded to the longest; which of these batches comes when is drawn.
  void group(std::size_t batch, std::function<double(std::int64_t sample)> work);

  std::vector<std::int64_t> next(std::size_t count);

  /// Samples taken so far, and going there at once: the order depends on nothing else.
  std::uint64_t taken() const { return taken_; }
  void skip_to(std::uint64_t taken);

 private:
  void shuffle(std::uint64_t epoch);
  void put_alike_together(std::mt19937_64& random);

  std::int64_t samples_;
  std::int64_t begin_;  ///< Of this rank's share of a shuffle.
  std::int64_t share_;
  std::uint64_t seed_;
  std::uint64_t taken_ = 0;
  std::uint64_t epoch_;
  std::vector<std::int64_t> order_;
  std::size_t batch_ = 1;
  std::function<double(std::int64_t)> work_;
};

}  // namespace syncopate::train
