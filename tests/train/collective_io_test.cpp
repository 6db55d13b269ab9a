// Work that ranks do together: one acts for all, whichever are gone, and a failure reaches all.
#include "train/collective_io.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stdexcept>

#include "strategy/play.h"
#include "world/access.h"

namespace syncopate::testing {
namespace {

using train::CollectiveIo;

TEST(CollectiveIo, OneActsForAll) {
  std::atomic<int> acted = 0;
  with_ranks(3, [&](World& world) {
    CollectiveIo io(world);
    for (int i = 1; i <= 5; ++i) {
      EXPECT_EQ(io.one([&] { ++acted; }), std::nullopt);
      EXPECT_EQ(acted, i);
      world.barrier();
    }
  });
}

TEST(CollectiveIo, AnotherActsIfTheFirstIsGone) {
  std::atomic<int> acted_by = -1;
  with_ranks(3, [&](World& world) {
    std::optional<CollectiveIo> io(world);
    if (world.rank() == 0) {
      io.reset();
      world = detail::WorldAccess::make(
          nullptr);  // As when an error ends the rank: it is not dead, and not there.
      return;
    }
    EXPECT_EQ(io->one([&] { acted_by = world.rank(); }), std::nullopt);
    EXPECT_EQ(acted_by, 1);
  });
}

TEST(CollectiveIo, AFailureIsToldToAll) {
  with_ranks(3, [&](World& world) {
    CollectiveIo io(world);
    const auto failure = io.each([&] {
      if (world.rank() == 1) throw std::runtime_error("no room");
    });
    EXPECT_EQ(failure, world.rank() == 1 ? "no room" : "another rank failed");
    EXPECT_EQ(io.each([] {}), std::nullopt) << "it does not stick";
  });
}

}  // namespace
}  // namespace syncopate::testing
