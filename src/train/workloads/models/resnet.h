// The residual networks for small pictures: 6n+2 layers in three stages of n blocks each, with
// batch normalization. n = 1, 3 and 5 give ResNet-8, -20 and -32.
#pragma once

#include <torch/torch.h>

namespace syncopate::train {

/// The first layer may leave out pixels (stride 2), which makes all that follows four times
/// cheaper.
torch::nn::Sequential make_resnet(int channels, int blocks_per_stage, int classes, int stride = 1);

}  // namespace syncopate::train
