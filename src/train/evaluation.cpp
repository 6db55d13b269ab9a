#include "train/evaluation.h"

#include <algorithm>
#include <numeric>

namespace syncopate::train {
namespace {

constexpr std::size_t kBatch = 250;
enum Sum : std::size_t { kHit, kLossOf, kFirstRank };
enum OfRank : std::size_t { kThere, kClock, kNumbersOfRank };

}  // namespace

Evaluator::Evaluator(const World& world, Task& task, torch::Device device)
    : world_(world),
      task_(task),
      device_(device),
      sums_(world, kFirstRank + kNumbersOfRank * world.size()) {
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

std::pair<double, double> Evaluator::judge(std::span<const std::int64_t> samples) {
  double hits = 0, loss = 0;
  for (std::size_t first = 0; first < samples.size(); first += kBatch) {
    const auto some = samples.subspan(first, std::min(kBatch, samples.size() - first));
    const Score score = task_.score(task_.test_batch(some).to(device_));
    hits += score.hits.sum().item<double>();
    loss += score.losses.sum().item<double>();
  }
  return {hits, loss};
}

Evaluation Evaluator::evaluate(double clock, double samples) {
  average_statistics();
  const torch::NoGradGuard no_grad;
  task_.model().eval();
  std::vector<std::int64_t> left(std::size_t(task_.test_samples()));
  std::iota(left.begin(), left.end(), 0);
  std::vector<int> ranks(world_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  Evaluation result{.samples = samples};
  // Each takes a share; what ranks that died were to take, the others share again.
  while (!left.empty()) {
    const auto share = [&](std::size_t place) {
      const std::size_t begin = left.size() * place / ranks.size();
      return std::span(left).subspan(begin, left.size() * (place + 1) / ranks.size() - begin);
    };
    const auto own = std::find(ranks.begin(), ranks.end(), world_.rank()) - ranks.begin();
    const auto [hits, loss] = judge(share(std::size_t(own)));
    double* slot = sums_.slot();
    std::fill(slot, slot + sums_.size(), 0.0);
    slot[kHit] = hits;
    slot[kLossOf] = loss;
    double* mine = slot + kFirstRank + kNumbersOfRank * world_.rank();
    mine[kThere] = 1;
    mine[kClock] = clock;
    const auto rounds = sums_.exchange();
    const std::span<const double> sum = rounds.front().sum();
    result.accuracy += 100 * sum[kHit] / double(task_.test_samples());
    result.loss += sum[kLossOf] / double(task_.test_samples());
    std::vector<std::int64_t> missing;
    std::vector<int> there;
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      const double* its = sum.data() + kFirstRank + kNumbersOfRank * ranks[place];
      result.seconds = std::max(result.seconds, its[kClock]);
      if (its[kThere] != 0) {
        there.push_back(ranks[place]);
      } else {
        missing.insert(missing.end(), share(place).begin(), share(place).end());
      }
    }
    left = std::move(missing);
    ranks = std::move(there);
  }
  task_.model().train();
  return result;
}

}  // namespace syncopate::train
