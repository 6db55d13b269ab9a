#include "train/data/video.h"

#include <algorithm>

#include "train/workloads/models/lstm.h"
#include "train/workloads/registry.h"
#include "train/workloads/support.h"

namespace syncopate::train {
namespace {

constexpr int kHidden = 32;

class VideoTask : public Task {
 public:
  explicit VideoTask(std::uint64_t seed)
      : videos_(seed),
        model_(seeded(seed, [] { return Lstm(Videos::kFeatures, kHidden, Videos::kClasses); })) {}

  torch::nn::Module& model() override { return *model_; }
  std::int64_t train_samples() const override { return Videos::kTrain; }
  std::int64_t test_samples() const override { return Videos::kTest; }

  Score score(const Batch& batch) override {
    return classify(model_->forward(batch.inputs, batch.lengths), batch.targets);
  }

  Batch train_batch(std::span<const std::int64_t> samples) const override {
    return batch(samples, 0, Videos::kTrain);
  }
  Batch test_batch(std::span<const std::int64_t> samples) const override {
    return batch(samples, Videos::kTrain, Videos::kTest);
  }

  bool uneven() const override { return true; }
  double work(std::span<const std::int64_t> samples) const override {
    double frames = 0;
    for (const std::int64_t sample : samples) frames += videos_.frames(sample % Videos::kTrain);
    return frames;
  }

 private:
  Batch batch(std::span<const std::int64_t> samples, std::int64_t first, std::int64_t count) const {
    const auto size = std::int64_t(samples.size());
    int longest = 0;
    for (const std::int64_t sample : samples) {
      longest = std::max(longest, videos_.clips(first + sample % count));
    }
    Batch result{.inputs = torch::zeros({size, longest, Videos::kFeatures}),
                 .targets = torch::empty(size, torch::kLong),
                 .lengths = torch::empty(size, torch::kLong)};
    const std::size_t stride = std::size_t(longest) * Videos::kFeatures;
    auto* input = result.inputs.data_ptr<float>();
    auto* target = result.targets.data_ptr<std::int64_t>();
    auto* length = result.lengths.data_ptr<std::int64_t>();
    for (const std::int64_t sample : samples) {
      const std::int64_t number = first + sample % count;
      videos_.features(number, {input, stride});
      *target++ = videos_.label(number);
      *length++ = videos_.clips(number);
      input += stride;
    }
    return result;
  }

  Videos videos_;
  Lstm model_;
};

}  // namespace

Workload video() {
  return {.name = "video",
          .models = {"lstm"},
          .data = "generated: features of 9,537 + 3,783 videos in 20 classes, as long as UCF101's",
          .imbalance = "inherent: 29 to 1,776 frames",
          .unit = "frame",
          .defaults = {.batch = 16, .rate = 0.1, .epochs = 6, .target = 0.72, .pace_ms = 0.0084},
          .make = [](const TaskOptions& options) -> std::unique_ptr<Task> {
            return std::make_unique<VideoTask>(options.seed);
          }};
}

}  // namespace syncopate::train
