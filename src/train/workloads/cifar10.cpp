#include "train/data/cifar.h"
#include "train/workloads/image_task.h"
#include "train/workloads/models/resnet.h"
#include "train/workloads/registry.h"
#include "train/workloads/support.h"

namespace syncopate::train {

Workload cifar10() {
  return {
      .name = "cifar10",
      .models = {"resnet20", "resnet32"},
      .data = "CIFAR-10, 50,000 + 10,000 photographs (binary version, brought by the user)",
      .imbalance = "injected",
      .defaults = {.batch = 64, .rate = 0.1, .weight_decay = 1e-4, .epochs = 100, .target = 0.9},
      .make = [](const TaskOptions& options) -> std::unique_ptr<Task> {
        const int blocks = options.model == "resnet32" ? 5 : 3;
        auto task = std::make_unique<ImageTask>(
            read_cifar_train(options.data), read_cifar_test(options.data),
            Brightness{{0.4914F, 0.4822F, 0.4465F}, {0.2470F, 0.2435F, 0.2616F}},
            seeded(options.seed, [&] { return make_resnet(3, blocks, kImageClasses); }));
        task->disturb(options.seed);
        return task;
      }};
}

}  // namespace syncopate::train
