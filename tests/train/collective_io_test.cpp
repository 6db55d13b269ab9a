// Work that ranks do together: one acts for all, whoever is gone, and a failure reaches everyone.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "strategy/play.h"
#include "train/together.h"

namespace syncopate::testing {
namespace {

using train::Together;

TEST(Together, OneActsForAll) {
  std::atomic<int> acted = 0;
  with_ranks(3, [&](World& world) {
    Together together(world);
    for (int i = 1; i <= 5; ++i) {
      EXPECT_EQ(together.one([&] { ++acted; }), std::nullopt);
      EXPECT_EQ(acted, i);
      world.barrier();
    }
  });
}

TEST(Together, AnotherActsIfTheFirstIsGone) {
  std::atomic<int> acted_by = -1;
  with_ranks(3, [&](World& world) {
    std::optional<Together> together(world);
    if (world.rank() == 0) {
      together.reset();
      world = World(nullptr);  // As when an error ends the rank: it is not dead, and not there.
      return;
    }
    EXPECT_EQ(together->one([&] { acted_by = world.rank(); }), std::nullopt);
    EXPECT_EQ(acted_by, 1);
  });
}

TEST(Together, AFailureIsToldToAll) {
  with_ranks(3, [&](World& world) {
    Together together(world);
    const auto failure = together.each([&] {
      if (world.rank() == 1) throw std::runtime_error("no room");
    });
    EXPECT_EQ(failure, world.rank() == 1 ? "no room" : "another rank failed");
    EXPECT_EQ(together.each([] {}), std::nullopt) << "it does not stick";
  });
}

}  // namespace
}  // namespace syncopate::testing
