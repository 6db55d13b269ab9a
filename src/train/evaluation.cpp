#include "train/evaluation.h"

#include <algorithm>
#include <numeric>

namespace syncopate::train {
namespace {

constexpr std::int64_t kBatch = 250;
enum Sum : std::size_t { kHit, kLossOf, kCount, kFirstClock };

}  // namespace

Evaluator::Evaluator(const World& world, Task& task, torch::Device device)
    : world_(world), task_(task), device_(device), sums_(world, kFirstClock + world.size()) {
  std::int64_t numbers = 0;
  for (const torch::Tensor& buffer : task.model().buffers()) {
    if (!buffer.is_floating_point()) continue;
    statistics_.push_back(buffer);
    numbers += buffer.numel();
  }
  if (numbers > 0) {
    statistics_sums_.emplace(world, std::size_t(numbers),
                             AllreduceOptions{.scale = Scale::contributors});
  }
}

void Evaluator::average_statistics() {
  if (!statistics_sums_) return;
  const torch::NoGradGuard no_grad;
  float* place = statistics_sums_->slot();
  for (const torch::Tensor& buffer : statistics_) {
    torch::from_blob(place, buffer.sizes(), torch::kFloat32).copy_(buffer);
    place += buffer.numel();
  }
  const auto rounds = statistics_sums_->exchange();
  auto* mean = const_cast<float*>(rounds.front().mean().data());
  for (torch::Tensor& buffer : statistics_) {
    buffer.copy_(torch::from_blob(mean, buffer.sizes(), torch::kFloat32));
    mean += buffer.numel();
  }
}

Evaluation Evaluator::evaluate(double clock, double samples) {
  average_statistics();
  const torch::NoGradGuard no_grad;
  task_.model().eval();
  const std::int64_t all = task_.test_samples();
  const std::int64_t begin = all * world_.rank() / world_.size();
  const std::int64_t end = all * (world_.rank() + 1) / world_.size();
  double hits = 0, loss = 0;
  for (std::int64_t first = begin; first < end; first += kBatch) {
    std::vector<std::int64_t> numbers(std::size_t(std::min(kBatch, end - first)));
    std::iota(numbers.begin(), numbers.end(), first);
    const Score score = task_.score(task_.test_batch(numbers).to(device_));
    hits += score.hits.sum().item<double>();
    loss += score.losses.sum().item<double>();
  }
  task_.model().train();

  double* slot = sums_.slot();
  std::fill(slot, slot + sums_.size(), 0.0);
  slot[kHit] = hits;
  slot[kLossOf] = loss;
  slot[kCount] = double(end - begin);
  slot[kFirstClock + world_.rank()] = clock;
  const auto rounds = sums_.exchange();
  const std::span<const double> sum = rounds.front().sum();
  const double count = std::max(1.0, sum[kCount]);
  return {.seconds = *std::max_element(sum.begin() + kFirstClock, sum.end()),
          .samples = samples,
          .accuracy = 100 * sum[kHit] / count,
          .loss = sum[kLossOf] / count};
}

}  // namespace syncopate::train
