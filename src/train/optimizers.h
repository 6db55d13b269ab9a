// The optimizers that a run can choose by name, and what a checkpoint keeps of them.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "train/config.h"
#include "train/tensor_file.h"

namespace syncopate::train {

/// Throws Error for a name that is not there.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Config& config, const std::vector<torch::Tensor>& parameters);

/// What the optimizer remembers of its steps: "0.momentum_buffer" is that of the first parameter.
Tensors memory_of(const torch::optim::Optimizer& optimizer);
/// Throws Damaged unless it is what an optimizer of this kind remembers of these parameters, or
/// nothing.
void check_memory(const torch::optim::Optimizer& optimizer, const Tensors& memory);
/// Gives it to the optimizer, once it is checked.
void set_memory(torch::optim::Optimizer& optimizer, const Tensors& memory);

}  // namespace syncopate::train
