// A rank that averages over and over, comes early, late and in between, and has every step
// audited.
#pragma once

#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "group/audit.h"
#include "group/exchange.h"
#include "group/options.h"
#include "support/common.h"
#include "support/crew.h"

namespace syncopate::testing {

struct GroupTraining {
  GroupOptions options;
  std::size_t elements = 100;
  int steps = 40;
  int straggler = -1;   ///< This rank is away longer than the others before every step.
  bool copied = false;  ///< Average the rank's own buffer, with a copy in.
  bool halves = false;  ///< start(), ready(), wait().
};

template <typename T>
GroupTotals train(World& world, GroupBook& book, const GroupTraining& training) {
  const GroupOptions options = group::complete(training.options, world.size());
  GroupAudit<T> audit(book, world, training.elements, options);
  const std::vector<T> initial = audit.initial();
  GroupAverage<T> average(world, std::span<const T>(initial), training.options);
  EXPECT_EQ(average.size(), training.elements);
  std::vector<T> own(training.elements);
  std::minstd_rand random(world.rank() + 1);
  for (int i = 0; i < training.steps; ++i) {
    if (world.rank() == training.straggler || random() % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
    if (training.copied) {
      audit.make(own.data());
      const GroupReceipt receipt = average.average(own);
      audit.check(receipt, own.data());
      continue;
    }
    audit.make(average.weights());
    if (training.halves) {
      average.start();
      audit.published();
      for (int look = 0; look < 3 && !average.ready(); ++look) std::this_thread::yield();
    }
    const GroupReceipt receipt = training.halves ? average.wait() : average.average();
    audit.check(receipt, average.weights());
  }
  // No rank takes its weights away while others still count on them.
  world.barrier();
  return audit.totals();
}

}  // namespace syncopate::testing
