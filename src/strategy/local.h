// Local steps with an average of everyone every so many of them.
#pragma once

#include "strategy/averaging.h"

namespace syncopate::strategy {

class Local final : public Averaging {
 public:
  Local(const Training& training, int every) : Averaging(training), every_(every) {}

 private:
  bool due(std::uint64_t steps) override { return steps >= every_; }

  std::uint64_t every_;
};

inline constexpr int kMostSteps = 1'000'000;

}  // namespace syncopate::strategy
