#include "train/workloads/models/cnn.h"

namespace syncopate::train {

torch::nn::Sequential make_cnn(int classes) {
  using torch::nn::Conv2dOptions;
  return torch::nn::Sequential(
      torch::nn::Conv2d(Conv2dOptions(1, 8, 5).stride(2).padding(2)), torch::nn::ReLU(),
      torch::nn::Conv2d(Conv2dOptions(8, 16, 5).stride(2).padding(2)), torch::nn::ReLU(),
      torch::nn::Flatten(), torch::nn::Linear(16 * 7 * 7, classes));
}

}  // namespace syncopate::train
