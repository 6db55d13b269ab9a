// Local steps with an average of everyone every so many of them.
#pragma once

#include "strategy/averaging.h"

namespace syncopate::strategy {

class Local final : public Averaging {
 public:
  /// `before`: rounds that there were before it began.
  Local(const Training& training, int every, std::uint64_t before = 0)
      : Averaging(training, 0, before), every_(every) {}

 private:
  bool due(std::uint64_t steps) override { return steps >= every_; }

  std::uint64_t every_;
};

}  // namespace syncopate::strategy
