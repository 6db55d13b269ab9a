#include "train/workloads/gray_pictures.h"
#include "train/workloads/registry.h"

namespace syncopate::train {

Workload fashion() {
  return {.name = "fashion",
          .models = {"cnn", "resnet8"},
          .data = "Fashion-MNIST, 60,000 + 10,000 pictures of clothes (make data)",
          .imbalance = "injected",
          .defaults = {.batch = 32, .rate = 0.02, .epochs = 3, .target = 0.87, .pace_ms = 0.3125},
          .make = [](const TaskOptions& options) {
            return gray_pictures(options, "fashion", 0.2860F, 0.3530F);
          }};
}

}  // namespace syncopate::train
