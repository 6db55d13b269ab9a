// Reads sequences of different lengths, padded at their ends, and classifies each by the state
// after its last element.
#pragma once

#include <torch/torch.h>

namespace syncopate::train {

class LstmImpl : public torch::nn::Module {
 public:
  LstmImpl(int features, int hidden, int classes);

  /// Inputs are samples x elements x features; lengths count elements, and are at least 1.
  torch::Tensor forward(const torch::Tensor& inputs, const torch::Tensor& lengths);

 private:
  torch::nn::LSTM lstm_;
  torch::nn::Linear head_;
};
TORCH_MODULE(Lstm);

}  // namespace syncopate::train
