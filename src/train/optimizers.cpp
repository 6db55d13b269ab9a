#include "train/optimizers.h"

#include <fmt/format.h>

#include <cmath>

#include "train/refusal.h"

namespace syncopate::train {

void check_optimizer(const Config& config) {
  const std::string& name = config.optimizer;
  if (name != "sgd" && name != "adam" && name != "adamw") {
    refuse(fmt::format("there is no optimiser '{}'", name), "Use sgd, adam or adamw");
  }
  if (!(config.rate > 0) || !std::isfinite(config.rate)) {
    refuse(fmt::format("the learning rate is {}", config.rate), "Give a number above 0");
  }
  if (!(config.momentum >= 0 && config.momentum < 1)) {
    refuse(fmt::format("the momentum is {}", config.momentum), "Give a number from 0 to below 1");
  }
  if (!(config.weight_decay >= 0) || !std::isfinite(config.weight_decay)) {
    refuse(fmt::format("the weight decay is {}", config.weight_decay),
           "Give a number that is not negative");
  }
  if (config.nesterov && (name != "sgd" || config.momentum == 0)) {
    refuse("Nesterov's momentum was asked for without momentum",
           "Use it with --optimizer sgd and --momentum above 0");
  }
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const Config& config, const std::vector<torch::Tensor>& parameters) {
  check_optimizer(config);
  if (config.optimizer == "sgd") {
    return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(config.rate)
                                                               .momentum(config.momentum)
                                                               .weight_decay(config.weight_decay)
                                                               .nesterov(config.nesterov));
  }
  if (config.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(config.rate).weight_decay(config.weight_decay));
  }
  return std::make_unique<torch::optim::AdamW>(
      parameters, torch::optim::AdamWOptions(config.rate).weight_decay(config.weight_decay));
}

}  // namespace syncopate::train
