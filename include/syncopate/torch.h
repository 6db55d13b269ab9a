// Training with libtorch. A DistributedOptimizer puts a strategy around an ordinary optimizer:
//
//   torch::optim::SGD optimizer(net->parameters(), 0.05);
//   syncopate::DistributedOptimizer distributed(world, optimizer, "eager-majority");
//   for (…) {
//     distributed.zero_grad();
//     loss(net, batch).backward();
//     distributed.step();
//   }
//   distributed.finish();
//
// The parameters become views of one vector, and so do the gradients; what is exchanged lies on the
// board, and is computed right there. Needs the component syncopate::torch.
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "syncopate/strategy.h"
#include "syncopate/world.h"

namespace syncopate {

/// The parameters of a torch optimizer, float32 and all on one device, as one vector.
class TorchLearner : public Learner {
 public:
  /// The optimizer must outlive this, and its parameters must not be exchanged for others.
  explicit TorchLearner(torch::optim::Optimizer& optimizer);
  ~TorchLearner() override;

  std::size_t size() const override { return size_; }
  void read_weights(std::span<float> into) const override;
  void keep_weights_at(float* place) override;
  void write_gradient_to(float* place) override;
  void flush_weights() override;
  void flush_gradient() override;
  void step(std::span<const float> gradient, double mass) override;
  void anticipate(double mass) override;
  /// SGD's alone.
  bool has_momentum() const override;

  /// Throws Error(invalid_argument) unless there are size() of them; so do the others.
  void write_weights(std::span<const float> weights);
  /// Sets the gradient to zero, where it is to be written.
  void zero_gradient();
  /// The model computes at its own weights again, not at those that were anticipated.
  void settle();
  /// What anticipated weights go by, for a checkpoint; nothing before any were anticipated.
  struct Heading {
    std::vector<float> before;  ///< The weights before the last step.
    double mass = 1;            ///< Of that step; with other optimizers than SGD a running mean.
  };
  std::optional<Heading> heading() const;
  void set_heading(const Heading& heading);
  /// The optimizer's learning rates from here on: `factor` times those it was made with.
  void set_rate(double factor);

 private:
  using Views = std::vector<torch::Tensor>;

  bool on_host() const { return device_.is_cpu(); }
  torch::Tensor blob(float* place) const;
  const Views& views(const torch::Tensor& flat);
  void compute_at(const torch::Tensor& flat);
  void step_by_mass(double mass);

  torch::optim::Optimizer& optimizer_;
  Views parameters_;
  std::size_t size_ = 0;
  torch::Device device_ = torch::kCPU;
  std::vector<double> rates_;  ///< Of the optimizer's groups, as they were.
  double rate_ = 1;

  torch::Tensor own_;        ///< The weights, unless they are kept elsewhere.
  torch::Tensor weights_;    ///< Where they are now.
  torch::Tensor gradient_;   ///< Where the gradient is computed.
  torch::Tensor before_;     ///< The weights before the last step; undefined until anticipated.
  torch::Tensor ahead_;      ///< The weights that were anticipated.
  double stepped_mass_ = 1;  ///< Of the last step.
  // Elsewhere than on the host: what lies on the board, and a pinned vector to pass through.
  float* weights_place_ = nullptr;
  float* gradient_place_ = nullptr;
  torch::Tensor pinned_;
  /// Parameters as views of a vector, by its address: the same few come again and again.
  std::unordered_map<void*, Views> views_;
  void* computing_at_ = nullptr;
};

struct DistributedOptions {
  std::uint64_t seed = 1;    ///< For draws that all ranks make alike.
  std::int64_t samples = 0;  ///< In the training set; for strategies that choose samples.
  std::int64_t batch = 0;    ///< Per rank and step.
};

/// With this loop `dropcompute` is `sync` and `biased-local` is without its bias: steps in parts
/// and the choice of samples are the program's, through strategy() (parts(), enough(), choose(),
/// note_losses()).
class DistributedOptimizer {
 public:
  /// Made by every rank with the same arguments. All ranks start with rank 0's parameters.
  DistributedOptimizer(World world, torch::optim::Optimizer& optimizer, std::string_view strategy,
                       const DistributedOptions& options = {});

  /// Before the gradient of a step is computed.
  void zero_grad();
  /// When it is computed: exchanges, and applies what there is to apply.
  void step();
  /// All ranks end together; nothing that was carried is lost. The parameters are equal on all
  /// ranks then, and stay valid after this object.
  void finish();

  Strategy& strategy() { return *strategy_; }
  TorchLearner& learner() { return learner_; }

 private:
  TorchLearner learner_;
  std::unique_ptr<Strategy> strategy_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace syncopate
