#include "train/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace syncopate::train {

std::vector<std::int64_t> number_onwards(std::vector<std::int64_t> drawn, std::uint64_t step,
                                         std::int64_t count) {
  for (std::int64_t& sample : drawn) sample += std::int64_t(step) * count;
  return drawn;
}

EpochSampler::EpochSampler(std::int64_t samples, int rank, int ranks, std::uint64_t seed)
    : samples_(samples),
      begin_(samples * rank / ranks),
      // With fewer samples than ranks some shares would be empty.
      share_(std::max<std::int64_t>(1, samples * (rank + 1) / ranks - begin_)),
      seed_(seed),
      epoch_(std::numeric_limits<std::uint64_t>::max()) {}

void EpochSampler::shuffle(std::uint64_t epoch) {
  std::seed_seq seeds{seed_, seed_ >> 32, epoch, epoch >> 32};
  std::mt19937_64 random(seeds);
  order_.resize(std::size_t(samples_));
  std::iota(order_.begin(), order_.end(), 0);
  std::shuffle(order_.begin(), order_.end(), random);
  if (work_) put_alike_together(random);
  epoch_ = epoch;
}

void EpochSampler::group(std::size_t batch, std::function<double(std::int64_t)> work) {
  batch_ = batch;
  work_ = std::move(work);
}

void EpochSampler::put_alike_together(std::mt19937_64& random) {
  const auto first = order_.begin() + std::min(begin_, samples_ - 1);
  std::vector<std::int64_t> share(first, std::min(first + share_, order_.end()));
  std::ranges::stable_sort(share, {}, work_);
  std::vector<std::size_t> batches((share.size() + batch_ - 1) / batch_);
  std::iota(batches.begin(), batches.end(), 0);
  std::shuffle(batches.begin(), batches.end(), random);
  auto place = first;
  for (const std::size_t batch : batches) {
    const std::size_t from = batch * batch_;
    const std::size_t to = std::min(from + batch_, share.size());
    place = std::copy(share.data() + from, share.data() + to, place);
  }
}

std::vector<std::int64_t> EpochSampler::next(std::size_t count) {
  std::vector<std::int64_t> samples;
  for (; samples.size() < count; ++taken_) {
    const std::uint64_t epoch = taken_ / std::uint64_t(share_);
    if (epoch != epoch_) shuffle(epoch);
    const std::int64_t place = begin_ + std::int64_t(taken_ % std::uint64_t(share_));
    samples.push_back(std::int64_t(epoch) * samples_ +
                      order_[std::size_t(std::min(place, samples_ - 1))]);
  }
  return samples;
}

void EpochSampler::skip_to(std::uint64_t taken) { taken_ = taken; }

}  // namespace syncopate::train
