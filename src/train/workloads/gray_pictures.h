// What MNIST and Fashion-MNIST have in common: 28 x 28 grey pictures in IDX files, and two models.
#pragma once

#include <memory>
#include <string>

#include "train/data/idx.h"
#include "train/workloads/image_task.h"
#include "train/workloads/models/cnn.h"
#include "train/workloads/models/resnet.h"
#include "train/workloads/support.h"

namespace syncopate::train {

inline std::unique_ptr<Task> gray_pictures(const TaskOptions& options, const std::string& folder,
                                           float mean, float deviation) {
  return std::make_unique<ImageTask>(
      read_idx(options.data / folder, "train"), read_idx(options.data / folder, "t10k"),
      Brightness{{mean}, {deviation}}, seeded(options.seed, [&] {
        return options.model == "resnet8" ? make_resnet(1, 1, kImageClasses, 2)
                                          : make_cnn(kImageClasses);
      }));
}

}  // namespace syncopate::train
