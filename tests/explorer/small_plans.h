// Worlds so small that all their schedules with a few preemptions can be played.
#pragma once

#include <span>
#include <string>

#include "explorer/plan.h"

namespace syncopate::testing {

struct SmallPlan {
  std::string name;
  Plan plan;
  int preemptions;  ///< How many still make a number of schedules that can be played.
};

std::span<const SmallPlan> small_plans();

}  // namespace syncopate::testing
