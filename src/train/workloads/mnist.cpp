#include "train/workloads/gray_pictures.h"
#include "train/workloads/registry.h"

namespace syncopate::train {

Workload mnist() {
  return {.name = "mnist",
          .models = {"cnn", "resnet8"},
          .data = "MNIST, 60,000 + 10,000 digits (make data)",
          .imbalance = "injected",
          .defaults = {.batch = 32, .rate = 0.02, .epochs = 2, .target = 0.97, .pace_ms = 0.3125},
          .make = [](const TaskOptions& options) {
            return gray_pictures(options, "mnist", 0.1307F, 0.3081F);
          }};
}

}  // namespace syncopate::train
