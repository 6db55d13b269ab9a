#include "train/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "syncopate/error.h"
#include "train/workloads/registry.h"

namespace syncopate::train {

Batch Batch::to(torch::Device device) const {
  const auto move = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.to(device, /*non_blocking=*/true) : tensor;
  };
  return {.inputs = move(inputs), .targets = move(targets), .lengths = lengths};
}

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> all = {hyperplane(), mnist(), fashion(), cifar10(), video()};
  return all;
}

const Workload& workload(std::string_view name) {
  std::string names;
  for (const Workload& one : workloads()) {
    if (one.name == name) return one;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  throw Error(ErrorCode::invalid_argument, fmt::format("there is no workload '{}'", name),
              fmt::format("Use one of: {}", names));
}

std::unique_ptr<Task> make_task(const Workload& workload, TaskOptions options) {
  if (options.model.empty()) options.model = workload.models.front();
  if (std::ranges::find(workload.models, options.model) == workload.models.end()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the workload {} has no model '{}'", workload.name, options.model),
                fmt::format("Use one of: {}", fmt::join(workload.models, ", ")));
  }
  return workload.make(options);
}

}  // namespace syncopate::train
