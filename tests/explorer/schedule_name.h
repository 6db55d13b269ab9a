// What a failing schedule is called, so that it can be played again: the seed of a random one;
// of a systematic one the world, the fault if there is one, and where the choice of the next
// rank was not the first, as in "pair-first/die1@45/12=1,30=1".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explorer/schedulers.h"
#include "explorer/small_plans.h"
#include "support/machine.h"

namespace syncopate::testing {

struct ScheduleName {
  const SmallPlan* world;
  std::vector<Machine::Fault> faults;
  std::vector<Systematic::Deviation> deviations;

  std::string text() const;
  /// Nothing if it is not the name of a systematic schedule.
  static std::optional<ScheduleName> parse(std::string_view text);
};

}  // namespace syncopate::testing
