#include <cmath>
#include <cstring>
#include <string>

#include "syncopate/error.h"
#include "syncopate/torch.h"

namespace syncopate {
namespace {

/// Below this an anticipated step is not worth its pass over the weights.
constexpr double kNotable = 0.01;
/// How much the newest step counts in the running mean of masses.
constexpr double kNewest = 0.2;

std::vector<torch::Tensor> parameters_of(const torch::optim::Optimizer& optimizer) {
  std::vector<torch::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  if (parameters.empty()) {
    throw Error(ErrorCode::invalid_argument, "the optimizer has no parameters",
                "Give it those of the model");
  }
  for (const auto& parameter : parameters) {
    if (parameter.scalar_type() != torch::kFloat32 ||
        parameter.device() != parameters.front().device()) {
      throw Error(ErrorCode::invalid_argument,
                  "a parameter is not float32, or not on the device of the others",
                  "Move the whole model to one device, in float32");
    }
  }
  return parameters;
}

void check_length(std::size_t given, std::size_t due) {
  if (given == due) return;
  throw Error(ErrorCode::invalid_argument,
              std::to_string(given) + " weights were given to a model of " + std::to_string(due),
              "Give those of the same model");
}

}  // namespace

TorchLearner::TorchLearner(torch::optim::Optimizer& optimizer)
    : optimizer_(optimizer),
      parameters_(parameters_of(optimizer)),
      device_(parameters_.front().device()) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& parameter : parameters_) flat.push_back(parameter.detach().reshape({-1}));
  own_ = torch::cat(flat).contiguous();
  size_ = std::size_t(own_.numel());
  weights_ = own_;
  gradient_ = torch::zeros_like(own_);
  if (!on_host()) {
    pinned_ = torch::empty({own_.numel()}, torch::TensorOptions().pinned_memory(true));
  }
  for (const auto& group : optimizer.param_groups()) rates_.push_back(group.options().get_lr());
  compute_at(weights_);
}

TorchLearner::~TorchLearner() {
  const torch::NoGradGuard no_grad;
  // The model must not be left with memory of the board.
  for (auto& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
  settle();
}

torch::Tensor TorchLearner::blob(float* place) const {
  return torch::from_blob(place, {std::int64_t(size_)}, torch::kFloat32);
}

const TorchLearner::Views& TorchLearner::views(const torch::Tensor& flat) {
  Views& known = views_[flat.data_ptr()];
  if (!known.empty()) return known;
  std::int64_t offset = 0;
  for (const auto& parameter : parameters_) {
    known.push_back(flat.narrow(0, offset, parameter.numel()).view(parameter.sizes()));
    offset += parameter.numel();
  }
  return known;
}

void TorchLearner::compute_at(const torch::Tensor& flat) {
  if (computing_at_ == flat.data_ptr()) return;
  const Views& where = views(flat);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].set_data(where[i]);
  computing_at_ = flat.data_ptr();
}

void TorchLearner::settle() { compute_at(weights_); }

void TorchLearner::read_weights(std::span<float> into) const {
  check_length(into.size(), size_);
  const torch::NoGradGuard no_grad;
  blob(into.data()).copy_(weights_);
}

void TorchLearner::write_weights(std::span<const float> weights) {
  check_length(weights.size(), size_);
  const torch::NoGradGuard no_grad;
  weights_.copy_(blob(const_cast<float*>(weights.data())));
}

void TorchLearner::keep_weights_at(float* place) {
  const torch::NoGradGuard no_grad;
  if (on_host()) {
    if (place == nullptr && !weights_.is_same(own_)) own_.copy_(weights_);
    weights_ = place == nullptr ? own_ : blob(place);
  } else {
    weights_place_ = place;
    if (place != nullptr) {
      std::memcpy(pinned_.data_ptr<float>(), place, size_ * sizeof(float));
      weights_.copy_(pinned_);
    }
  }
  settle();
}

void TorchLearner::write_gradient_to(float* place) {
  if (on_host()) {
    gradient_ = blob(place);
  } else {
    gradient_place_ = place;
  }
  const Views& where = views(gradient_);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = where[i];
}

void TorchLearner::zero_gradient() {
  const torch::NoGradGuard no_grad;
  gradient_.zero_();
}

void TorchLearner::flush_weights() {
  if (on_host() || weights_place_ == nullptr) return;
  const torch::NoGradGuard no_grad;
  pinned_.copy_(weights_);
  std::memcpy(weights_place_, pinned_.data_ptr<float>(), size_ * sizeof(float));
}

void TorchLearner::flush_gradient() {
  if (on_host()) return;
  const torch::NoGradGuard no_grad;
  pinned_.copy_(gradient_);
  std::memcpy(gradient_place_, pinned_.data_ptr<float>(), size_ * sizeof(float));
}

void TorchLearner::step(std::span<const float> gradient, double mass) {
  const torch::NoGradGuard no_grad;
  settle();
  torch::Tensor applied;
  if (on_host()) {
    applied = blob(const_cast<float*>(gradient.data()));
  } else {
    std::memcpy(pinned_.data_ptr<float>(), gradient.data(), size_ * sizeof(float));
    gradient_.copy_(pinned_);
    applied = gradient_;
  }
  const Views& where = views(applied);
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].mutable_grad() = where[i];
  if (before_.defined()) before_.copy_(weights_);
  // Other optimizers step about as far whatever the mass: they are told by its running mean.
  const bool by_mass = dynamic_cast<torch::optim::SGD*>(&optimizer_) != nullptr;
  stepped_mass_ += (by_mass ? 1 : kNewest) * (mass - stepped_mass_);
  step_by_mass(mass);
}

void TorchLearner::step_by_mass(double mass) {
  auto* sgd = dynamic_cast<torch::optim::SGD*>(&optimizer_);
  if (sgd == nullptr || mass == 1) {
    optimizer_.step();
    return;
  }
  // A round with part of the gradients is part of a step: velocity and weights decay by as much
  // less, and a gradient moves the weights in total as far as in a whole step.
  auto& groups = optimizer_.param_groups();
  std::vector<torch::optim::SGDOptions> whole;
  for (auto& group : groups) {
    auto& options = static_cast<torch::optim::SGDOptions&>(group.options());
    whole.push_back(options);
    const double momentum = options.momentum();
    if (momentum > 0) {
      const double decay = std::pow(momentum, mass);
      options.lr(options.lr() * (1 - decay) / (1 - momentum)).momentum(decay);
    }
    options.weight_decay(options.weight_decay() * mass);
  }
  optimizer_.step();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    static_cast<torch::optim::SGDOptions&>(groups[i].options()) = whole[i];
  }
}

void TorchLearner::anticipate(double mass) {
  const torch::NoGradGuard no_grad;
  if (!before_.defined()) {
    before_ = weights_.clone();
    ahead_ = torch::empty_like(weights_);
  }
  if (mass < kNotable) {
    settle();
    return;
  }
  torch::sub_out(ahead_, weights_, before_);
  ahead_.mul_(mass / stepped_mass_).add_(weights_);
  compute_at(ahead_);
}

bool TorchLearner::has_momentum() const {
  if (dynamic_cast<torch::optim::SGD*>(&optimizer_) == nullptr) return false;
  const auto& options = optimizer_.param_groups().front().options();
  return static_cast<const torch::optim::SGDOptions&>(options).momentum() > 0;
}

std::optional<TorchLearner::Heading> TorchLearner::heading() const {
  if (!before_.defined()) return std::nullopt;
  const torch::NoGradGuard no_grad;
  Heading heading{.before = std::vector<float>(size_), .mass = stepped_mass_};
  blob(heading.before.data()).copy_(before_);
  return heading;
}

void TorchLearner::set_heading(const Heading& heading) {
  check_length(heading.before.size(), size_);
  if (!(std::isfinite(heading.mass) && heading.mass > 0)) {
    throw Error(ErrorCode::invalid_argument, "a heading of no mass was given",
                "Give one that heading() has returned");
  }
  const torch::NoGradGuard no_grad;
  before_ = weights_.clone();
  ahead_ = torch::empty_like(weights_);
  before_.copy_(blob(const_cast<float*>(heading.before.data())));
  stepped_mass_ = heading.mass;
}

void TorchLearner::set_rate(double factor) {
  if (factor == rate_) return;
  rate_ = factor;
  auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates_[i] * factor);
}

DistributedOptimizer::DistributedOptimizer(World world, torch::optim::Optimizer& optimizer,
                                           std::string_view strategy,
                                           const DistributedOptions& options)
    : learner_(optimizer) {
  std::vector<float> weights(learner_.size());
  learner_.read_weights(weights);
  world.broadcast(std::span<float>(weights), 0);
  learner_.write_weights(weights);
  strategy_ = make_strategy(strategy, {.world = world,
                                       .learner = learner_,
                                       .samples = options.samples,
                                       .batch = options.batch,
                                       .seed = options.seed});
}

void DistributedOptimizer::zero_grad() {
  strategy_->begin_step();
  learner_.zero_gradient();
  began_ = std::chrono::steady_clock::now();
}

void DistributedOptimizer::step() {
  strategy_->end_step(std::chrono::steady_clock::now() - began_);
}

void DistributedOptimizer::finish() {
  strategy_->finish();
  learner_.settle();
}

}  // namespace syncopate
