// A workload: a model, its data and its loss, with settings that suit it. One file each in
// workloads/; the registry lists them for `syncopate workloads`.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syncopate::train {

struct Batch {
  torch::Tensor inputs;   ///< The first dimension counts samples.
  torch::Tensor targets;  ///< Classes, or values for a regression.
  torch::Tensor lengths;  ///< Of each sequence; undefined where samples have no length.

  Batch to(torch::Device device) const;
};

struct Score {
  torch::Tensor losses;  ///< One per sample, with the graph behind it.
  torch::Tensor hits;    ///< One per sample: 1 where the prediction is right; 0 in a regression.
};

/// What one rank trains. All ranks make the same task; samples are known by their numbers.
class Task {
 public:
  virtual ~Task() = default;
  virtual torch::nn::Module& model() = 0;
  virtual Score score(const Batch& batch) = 0;

  virtual std::int64_t train_samples() const = 0;
  virtual std::int64_t test_samples() const = 0;
  /// On the host. A number beyond the last one counts on from the first: the pictures of
  /// cifar10 are then disturbed in another way, so number each pass onwards to see them anew.
  virtual Batch train_batch(std::span<const std::int64_t> samples) const = 0;
  virtual Batch test_batch(std::span<const std::int64_t> samples) const = 0;

  /// Whether samples differ so much in work that a batch should hold similar ones.
  virtual bool uneven() const { return false; }
  /// How much work these training samples are, in the workload's unit.
  virtual double work(std::span<const std::int64_t> samples) const {
    return double(samples.size());
  }
};

struct TaskOptions {
  std::filesystem::path data;  ///< The folder with the data sets.
  std::string model;           ///< One of Workload::models.
  std::uint64_t seed = 1;      ///< Of the initial weights and of generated data.
};

/// Settings that a run uses unless the user says otherwise.
struct Defaults {
  std::int64_t batch = 32;  ///< Samples per rank and step.
  std::string optimizer = "sgd";
  double rate = 0.05;
  /// The rate is for steps of so many samples of all ranks, and smaller in proportion for fewer; 0:
  /// it does not depend on them.
  std::int64_t rate_for = 0;
  double momentum = 0.9;
  double weight_decay = 0;
  double epochs = 3;
  double target = 0;   ///< The accuracy (0 to 1) or, in a regression, the loss to reach.
  double pace_ms = 0;  ///< What a unit of work takes on a device of its own.
};

struct Workload {
  std::string name;
  std::vector<std::string> models;  ///< The first is the one used unless another is named.
  std::string data;                 ///< One line on where the samples come from.
  std::string imbalance;            ///< "injected", or what it comes from.
  std::string unit = "sample";      ///< What the pace counts.
  bool regression = false;          ///< Judged by loss, not by accuracy.
  Defaults defaults;
  std::function<std::unique_ptr<Task>(const TaskOptions&)> make;
};

const std::vector<Workload>& workloads();
/// Throws Error for a name that is not there, with those that are.
const Workload& workload(std::string_view name);
/// Makes the task; checks that the model is one of the workload's ("" means its first).
std::unique_ptr<Task> make_task(const Workload& workload, TaskOptions options);

}  // namespace syncopate::train
