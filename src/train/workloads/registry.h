// One function per workload, each in a file of its name.
#pragma once

#include "train/workload.h"

namespace syncopate::train {

Workload cifar10();
Workload fashion();
Workload hyperplane();
Workload mnist();
Workload video();

}  // namespace syncopate::train
