// Deposits that are merged on the board before a round takes them.
#include <gtest/gtest.h>

#include <vector>

#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

template <typename T>
void expect_mean_of_heavy_deposits() {
  on_threads(1, [](World& world) {
    PartialAllreduce<T> rounds(world, 3, {.scale = Scale::weight});
    // The weighted sums, 102,400 and more, are far beyond what a float16 holds.
    for (const float value : {200.0F, 100.0F, 300.0F}) {
      rounds.start(std::vector<T>(3, T(value)), 512);
    }
    for (const auto& round : rounds.wait()) {
      EXPECT_EQ(float(round.mean()[2]), 200.0F);
      EXPECT_EQ(round.receipt().weight, 3 * 512);
    }
  });
}

TEST(Carried, HeavyDepositsDoNotOverflowHalfPrecision) {
  expect_mean_of_heavy_deposits<float16>();
  expect_mean_of_heavy_deposits<bfloat16>();
}

TEST(Carried, DropsThatNoReceiptHasToldOfAreToldByTheRunThatGoesOn) {
  const PartialOptions options{.trigger = first(), .late = drop(), .scale = Scale::none};
  const std::vector<float> one{1};
  std::uint64_t unreported = 0;
  on_threads(2, [&](World& world) {
    PartialAllreduce<float> rounds(world, 1, options);
    world.barrier();
    if (world.rank() == 0) {
      for (int step = 0; step < 3; ++step) rounds.exchange(one).pass();
    }
    world.barrier();
    if (world.rank() == 1) {
      rounds.start(one);  // Of a model that is three rounds old.
      EXPECT_EQ(rounds.dropped(), 1U);
      unreported = rounds.unreported();
    } else {
      EXPECT_EQ(rounds.unreported(), 0U);
    }
    world.barrier();
  });
  ASSERT_EQ(unreported, 1U);
  on_threads(1, [&](World& world) {
    PartialAllreduce<float> rounds(world, 1, options);
    rounds.report(unreported);
    EXPECT_EQ(rounds.exchange(one).front().receipt().drops, 1U);
    EXPECT_EQ(rounds.unreported(), 0U);
  });
}

}  // namespace
}  // namespace syncopate::testing
