#include "train/optimizers.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <type_traits>

#include "train/refusal.h"

namespace syncopate::train {
namespace {

using torch::optim::AdamParamState;
using torch::optim::AdamWParamState;
using torch::optim::Optimizer;
using torch::optim::SGDParamState;

/// Where an optimiser keeps what it remembers of a parameter; libtorch 1 has names for that.
template <typename Key>
Key key_of(const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream name;
    name << parameter.unsafeGetTensorImpl();
    return name.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}
using Memory = std::remove_cvref_t<decltype(std::declval<Optimizer&>().state())>;

/// A tensor of a state, or a number as one, under its name: written to the file or read from it.
using Visit = std::function<void(const std::string& name, torch::Tensor& value)>;

void visit(SGDParamState& state, const Visit& each) {
  each("momentum_buffer", state.momentum_buffer());
}

template <typename State>
void visit_moments(State& state, const Visit& each) {
  torch::Tensor step = torch::tensor({state.step()}, torch::kInt64);
  each("step", step);
  state.step(step.item<std::int64_t>());
  each("exp_avg", state.exp_avg());
  each("exp_avg_sq", state.exp_avg_sq());
}
void visit(AdamParamState& state, const Visit& each) { visit_moments(state, each); }
void visit(AdamWParamState& state, const Visit& each) { visit_moments(state, each); }

template <typename State>
void read_memory(Optimizer& optimizer, const Tensors& memory) {
  if (memory.empty()) return;  // It had not stepped, or has nothing to remember.
  std::size_t number = 0, known = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      const std::string prefix = std::to_string(number++) + ".";
      auto state = std::make_unique<State>();
      visit(*state, [&](const std::string& name, torch::Tensor& value) {
        const auto found = memory.find(prefix + name);
        if (found == memory.end()) throw std::runtime_error("it lacks what the optimiser had");
        ++known;
        if (name != "step" && found->second.sizes() != parameter.sizes()) {
          throw std::runtime_error("it is of another model");
        }
        value = found->second.clone();
        if (name != "step") value = value.to(parameter.device());
      });
      optimizer.state()[key_of<Memory::key_type>(parameter)] = std::move(state);
    }
  }
  if (known < memory.size()) throw std::runtime_error("it is of another optimiser");
}

}  // namespace

Tensors memory_of(const Optimizer& optimizer) {
  Tensors memory;
  std::size_t number = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      const std::string prefix = std::to_string(number++) + ".";
      const auto found = optimizer.state().find(key_of<Memory::key_type>(parameter));
      if (found == optimizer.state().end()) continue;
      const Visit keep = [&](const std::string& name, torch::Tensor& value) {
        if (value.defined()) memory[prefix + name] = value;
      };
      torch::optim::OptimizerParamState& state = *found->second;
      if (auto* of_sgd = dynamic_cast<SGDParamState*>(&state)) visit(*of_sgd, keep);
      if (auto* of_adam = dynamic_cast<AdamParamState*>(&state)) visit(*of_adam, keep);
      if (auto* of_adamw = dynamic_cast<AdamWParamState*>(&state)) visit(*of_adamw, keep);
    }
  }
  return memory;
}

void set_memory(Optimizer& optimizer, const Tensors& memory) {
  const torch::NoGradGuard no_grad;
  if (dynamic_cast<torch::optim::SGD*>(&optimizer) != nullptr) {
    read_memory<SGDParamState>(optimizer, memory);
  } else if (dynamic_cast<torch::optim::Adam*>(&optimizer) != nullptr) {
    read_memory<AdamParamState>(optimizer, memory);
  } else {
    read_memory<AdamWParamState>(optimizer, memory);
  }
}

void check_optimizer(const Config& config) {
  const std::string& name = config.optimizer;
  if (name != "sgd" && name != "adam" && name != "adamw") {
    refuse(fmt::format("there is no optimiser '{}'", name), "Use sgd, adam or adamw");
  }
  // Of the kind that weights are.
  const auto is_float = [](double value) { return std::isfinite(static_cast<float>(value)); };
  if (!(config.rate > 0) || !is_float(config.rate)) {
    refuse(fmt::format("the learning rate is {}", config.rate), "Give a number above 0");
  }
  if (!(config.momentum >= 0 && config.momentum < 1)) {
    refuse(fmt::format("the momentum is {}", config.momentum), "Give a number from 0 to below 1");
  }
  if (!(config.weight_decay >= 0) || !is_float(config.weight_decay)) {
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
