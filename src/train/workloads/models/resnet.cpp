#include "train/workloads/models/resnet.h"

namespace syncopate::train {
namespace {

torch::nn::Conv2d convolution(int from, int to, int size, int stride) {
  torch::nn::Conv2d layer(torch::nn::Conv2dOptions(from, to, size)
                              .stride(stride)
                              .padding(size / 2)
                              .bias(false));  // The normalization that follows has one.
  torch::nn::init::kaiming_normal_(layer->weight, 0, torch::kFanOut, torch::kReLU);
  return layer;
}

class BlockImpl : public torch::nn::Module {
 public:
  BlockImpl(int from, int to, int stride)
      : way_(register_module(
            "way", torch::nn::Sequential(convolution(from, to, 3, stride),
                                         torch::nn::BatchNorm2d(to), torch::nn::ReLU(),
                                         convolution(to, to, 3, 1), torch::nn::BatchNorm2d(to)))) {
    if (from == to && stride == 1) return;
    shortcut_ = register_module("shortcut", torch::nn::Sequential(convolution(from, to, 1, stride),
                                                                  torch::nn::BatchNorm2d(to)));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu(way_->forward(x) + (shortcut_ ? shortcut_->forward(x) : x));
  }

 private:
  torch::nn::Sequential way_;
  torch::nn::Sequential shortcut_{nullptr};
};
TORCH_MODULE(Block);

}  // namespace

torch::nn::Sequential make_resnet(int channels, int blocks_per_stage, int classes, int stride) {
  constexpr int kStages = 3;
  int width = 16;
  torch::nn::Sequential net(convolution(channels, width, 3, stride), torch::nn::BatchNorm2d(width),
                            torch::nn::ReLU());
  for (int stage = 0; stage < kStages; ++stage) {
    for (int block = 0; block < blocks_per_stage; ++block) {
      const bool narrows = stage > 0 && block == 0;
      net->push_back(Block(width, narrows ? 2 * width : width, narrows ? 2 : 1));
      if (narrows) width *= 2;
    }
  }
  net->push_back(torch::nn::AdaptiveAvgPool2d(torch::nn::AdaptiveAvgPool2dOptions(1)));
  net->push_back(torch::nn::Flatten());
  net->push_back(torch::nn::Linear(width, classes));
  return net;
}

}  // namespace syncopate::train
