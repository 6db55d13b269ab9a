// The optimisers that a run can choose by name.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "train/config.h"

namespace syncopate::train {

/// Throws Error for a name that is not there.
std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Config& config, const std::vector<torch::Tensor>& parameters);

/// Throws Error for settings that no optimiser can work with.
void check_optimizer(const Config& config);

}  // namespace syncopate::train
