#include "train/optimizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <type_traits>
#include <utility>

#include "train/bytes.h"

namespace syncopate::train {
namespace {

using torch::optim::AdamParamState;
using torch::optim::AdamWParamState;
using torch::optim::Optimizer;
using torch::optim::SGDParamState;

/// Where an optimizer keeps what it remembers of a parameter; libtorch 1 has names for that.
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

/// Largest number of steps.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

void check_value(const std::string& name, const torch::Tensor& value,
                 const torch::Tensor& parameter) {
  if (name.ends_with("step")) {
    if (value.scalar_type() == torch::kInt64 && value.dim() == 1 && value.numel() == 1 &&
        value.item<std::int64_t>() >= 0 && value.item<std::int64_t>() <= kMostSteps) {
      return;
    }
    throw Damaged(fmt::format("\"optimizer.{}\" is no number of steps", name));
  }
  if (value.scalar_type() != torch::kFloat32 || value.sizes() != parameter.sizes()) {
    throw Damaged(fmt::format("\"optimizer.{}\" is of another model", name));
  }
  // Of a mean of squares a root is taken.
  if (!torch::isfinite(value).all().item<bool>() ||
      (name.ends_with("exp_avg_sq") && (value < 0).any().item<bool>())) {
    throw Damaged(fmt::format("\"optimizer.{}\" has a value that is none", name));
  }
}

/// Goes through what the optimizer would remember of its parameters; returns how much that is.
template <typename State, typename Found>
std::size_t for_memory(const Optimizer& optimizer, const Tensors& memory, const Found& found) {
  std::size_t number = 0, known = 0;
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      const std::string prefix = std::to_string(number++) + ".";
      auto state = std::make_unique<State>();
      visit(*state, [&](const std::string& name, torch::Tensor& value) {
        const auto kept = memory.find(prefix + name);
        if (kept == memory.end()) {
          throw Damaged(fmt::format("it has no \"optimizer.{}\"", prefix + name));
        }
        check_value(kept->first, kept->second, parameter);
        ++known;
        value = kept->second.clone();
        if (name != "step") value = value.to(parameter.device());
      });
      found(parameter, std::move(state));
    }
  }
  return known;
}

template <typename State>
void check_memory_of(const Optimizer& optimizer, const Tensors& memory) {
  const auto ignore = [](const auto&, auto) {};
  if (for_memory<State>(optimizer, memory, ignore) < memory.size()) {
    throw Damaged("it is of another optimizer");
  }
}

template <typename State>
void set_memory_of(Optimizer& optimizer, const Tensors& memory) {
  for_memory<State>(optimizer, memory, [&](const torch::Tensor& parameter, auto state) {
    optimizer.state()[key_of<Memory::key_type>(parameter)] = std::move(state);
  });
}

/// Calls `act` with the kind of state that the optimizer has.
template <typename Act>
void by_kind(const Optimizer& optimizer, const Act& act) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr) {
    act(SGDParamState());
  } else if (dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr) {
    act(AdamParamState());
  } else {
    act(AdamWParamState());
  }
}

/// Plain SGD has nothing to remember.
bool remembers(const Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer) == nullptr) return true;
  return std::ranges::any_of(optimizer.param_groups(), [](const auto& group) {
    return static_cast<const torch::optim::SGDOptions&>(group.options()).momentum() != 0;
  });
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

void check_memory(const Optimizer& optimizer, const Tensors& memory) {
  if (memory.empty()) return;  // It had not stepped, or has nothing to remember.
  if (!remembers(optimizer)) throw Damaged("it is of another optimizer");
  const torch::NoGradGuard no_grad;
  by_kind(optimizer, [&](const auto& kind) {
    check_memory_of<std::remove_cvref_t<decltype(kind)>>(optimizer, memory);
  });
}

void set_memory(Optimizer& optimizer, const Tensors& memory) {
  check_memory(optimizer, memory);
  if (memory.empty()) return;
  const torch::NoGradGuard no_grad;
  by_kind(optimizer, [&](const auto& kind) {
    set_memory_of<std::remove_cvref_t<decltype(kind)>>(optimizer, memory);
  });
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
