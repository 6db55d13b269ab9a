#include "train/workloads/models/lstm.h"

namespace syncopate::train {

LstmImpl::LstmImpl(int features, int hidden, int classes)
    : lstm_(register_module(
          "lstm", torch::nn::LSTM(torch::nn::LSTMOptions(features, hidden).batch_first(true)))),
      head_(register_module("head", torch::nn::Linear(hidden, classes))) {}

torch::Tensor LstmImpl::forward(const torch::Tensor& inputs, const torch::Tensor& lengths) {
  const torch::Tensor states = std::get<0>(lstm_->forward(inputs));
  // An LSTM never looks ahead, so padding after the end cannot reach the state that is taken.
  const torch::Tensor last = lengths.to(states.device()).sub(1).view({-1, 1, 1});
  return head_->forward(states.gather(1, last.expand({-1, 1, states.size(2)})).squeeze(1));
}

}  // namespace syncopate::train
