// The optimisers that a run can choose by name, and what a checkpoint keeps of them.
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

/// Throws Error for settings that no optimiser can work with.
void check_optimizer(const Config& config);

/// What the optimiser remembers of its steps: "0.momentum_buffer" is that of the first parameter.
Tensors memory_of(const torch::optim::Optimizer& optimizer);
/// Gives it to an optimiser of the same kind with parameters of the same shapes; throws
/// std::runtime_error if they are not.
void set_memory(torch::optim::Optimizer& optimizer, const Tensors& memory);

}  // namespace syncopate::train
