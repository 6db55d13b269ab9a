#include "train/workloads/image_task.h"

#include <utility>

#include "train/data/crop.h"
#include "train/data/random.h"
#include "train/workloads/support.h"

namespace syncopate::train {
namespace {

constexpr float kBrightest = 255;

torch::Tensor per_channel(const std::vector<float>& values) {
  return torch::tensor(values).view({1, -1, 1, 1});
}

torch::Tensor numbers(std::span<const std::int64_t> samples, std::int64_t count) {
  torch::Tensor result = torch::empty(std::int64_t(samples.size()), torch::kLong);
  auto* number = result.data_ptr<std::int64_t>();
  for (const std::int64_t sample : samples) *number++ = sample % count;
  return result;
}

}  // namespace

ImageTask::Part::Part(Images all) : images(std::move(all)) {
  const auto side = images.side;
  pixels = torch::from_blob(images.pixels.data(), {images.count(), images.channels, side, side},
                            torch::kByte);
  labels = torch::from_blob(images.labels.data(), {images.count()}, torch::kByte).to(torch::kLong);
}

ImageTask::ImageTask(Images train, Images test, const Brightness& brightness,
                     torch::nn::Sequential model)
    : train_(std::move(train)),
      test_(std::move(test)),
      mean_(per_channel(brightness.mean) * kBrightest),
      scale_(1 / (per_channel(brightness.deviation) * kBrightest)),
      model_(std::move(model)) {}

void ImageTask::disturb(std::uint64_t seed) {
  disturbed_ = true;
  seed_ = seed;
}

Score ImageTask::score(const Batch& batch) {
  return classify(model_->forward(batch.inputs), batch.targets);
}

torch::Tensor ImageTask::normalized(const torch::Tensor& pixels) const {
  return pixels.to(torch::kFloat).sub_(mean_).mul_(scale_);
}

Batch ImageTask::train_batch(std::span<const std::int64_t> samples) const {
  const torch::Tensor chosen = numbers(samples, train_samples());
  torch::Tensor pixels;
  if (disturbed_) {
    const Images& images = train_.images;
    pixels = torch::empty({std::int64_t(samples.size()), images.channels, images.side, images.side},
                          torch::kByte);
    auto* target = pixels.data_ptr<std::uint8_t>();
    for (const std::int64_t sample : samples) {
      crop_and_flip(images, sample % train_samples(), mix(seed_, sample), target);
      target += images.bytes_each();
    }
  } else {
    pixels = train_.pixels.index_select(0, chosen);
  }
  return {.inputs = normalized(pixels), .targets = train_.labels.index_select(0, chosen)};
}

Batch ImageTask::test_batch(std::span<const std::int64_t> samples) const {
  const torch::Tensor chosen = numbers(samples, test_samples());
  return {.inputs = normalized(test_.pixels.index_select(0, chosen)),
          .targets = test_.labels.index_select(0, chosen)};
}

}  // namespace syncopate::train
