// The task of telling pictures apart, for MNIST, Fashion-MNIST and CIFAR-10.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "train/data/images.h"
#include "train/workload.h"

namespace syncopate::train {

/// Of each channel, over the training pictures, in the range 0 to 1.
struct Brightness {
  std::vector<float> mean;
  std::vector<float> deviation;
};

class ImageTask : public Task {
 public:
  ImageTask(Images train, Images test, const Brightness& brightness, torch::nn::Sequential model);

  /// From now on training pictures are moved and mirrored, each time they are passed by another
  /// way.
  void disturb(std::uint64_t seed);

  torch::nn::Module& model() override { return *model_; }
  Score score(const Batch& batch) override;
  std::int64_t train_samples() const override { return train_.images.count(); }
  std::int64_t test_samples() const override { return test_.images.count(); }
  Batch train_batch(std::span<const std::int64_t> samples) const override;
  Batch test_batch(std::span<const std::int64_t> samples) const override;

 private:
  struct Part {
    explicit Part(Images images);
    Images images;
    torch::Tensor pixels;  ///< Of the images, not copied.
    torch::Tensor labels;
  };

  torch::Tensor normalized(const torch::Tensor& pixels) const;

  Part train_;
  Part test_;
  torch::Tensor mean_;
  torch::Tensor scale_;
  torch::nn::Sequential model_;
  bool disturbed_ = false;
  std::uint64_t seed_ = 0;
};

}  // namespace syncopate::train
