#include "train/data/hyperplane.h"

#include "train/workloads/registry.h"
#include "train/workloads/support.h"

namespace syncopate::train {
namespace {

class HyperplaneTask : public Task {
 public:
  explicit HyperplaneTask(std::uint64_t seed)
      : plane_(seed),
        model_(seeded(seed, [] { return torch::nn::Linear(Hyperplane::kInputs, 1); })) {}

  torch::nn::Module& model() override { return *model_; }
  std::int64_t train_samples() const override { return Hyperplane::kTrain; }
  std::int64_t test_samples() const override { return Hyperplane::kTest; }

  Score score(const Batch& batch) override {
    const torch::Tensor error = model_->forward(batch.inputs).squeeze(1) - batch.targets;
    return {.losses = error.square(), .hits = torch::zeros_like(batch.targets)};
  }

  Batch train_batch(std::span<const std::int64_t> samples) const override {
    return batch(samples, 0, Hyperplane::kTrain);
  }
  Batch test_batch(std::span<const std::int64_t> samples) const override {
    return batch(samples, Hyperplane::kTrain, Hyperplane::kTest);
  }

 private:
  Batch batch(std::span<const std::int64_t> samples, std::int64_t first, std::int64_t count) const {
    const auto size = std::int64_t(samples.size());
    Batch result{.inputs = torch::empty({size, Hyperplane::kInputs}),
                 .targets = torch::empty(size)};
    auto* input = result.inputs.data_ptr<float>();
    auto* target = result.targets.data_ptr<float>();
    for (const std::int64_t sample : samples) {
      *target++ = plane_.sample(first + sample % count,
                                std::span<float, Hyperplane::kInputs>(input, Hyperplane::kInputs));
      input += Hyperplane::kInputs;
    }
    return result;
  }

  Hyperplane plane_;
  torch::nn::Linear model_;
};

}  // namespace

Workload hyperplane() {
  return {.name = "hyperplane",
          .models = {"linear"},
          .data = "generated: 32,768 samples with 8,192 inputs and noise of variance 0.01",
          .imbalance = "injected",
          .regression = true,
          .defaults = {.batch = 256,
                       .rate = 0.05,
                       // It may be at most about samples / (inputs + samples), or errors grow.
                       .rate_for = 2048,
                       .momentum = 0,
                       .epochs = 12,
                       .target = 0.016,
                       .pace_ms = 0.08},
          .make = [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<HyperplaneTask>(options.seed);
          }};
}

}  // namespace syncopate::train
