// The memory of a group average follows how far ranks really are apart, not how far they might
// be.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "support/processes.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

TEST(GroupMemory, FollowsTheRealLagAndNotTheWindow) {
  constexpr int kRanks = 4;
  constexpr std::size_t kElements = 1 << 18;
  constexpr std::size_t kBytes = kElements * sizeof(float);
  Processes processes(kRanks, [&](int) {
    World world = World::from_environment();
    const std::vector<float> initial(kElements, 1.0F);
    GroupAverage<float> weights(
        world, initial, {.group_size = 2, .synchronize_every = 0, .trigger = all(), .window = 250});
    for (int i = 0; i < 30; ++i) {
      weights.average();
      world.barrier();
    }
  });
  std::size_t used = 0;
  processes.on_end = [&](int) {
    struct stat status {};
    if (stat(processes.meeting().address().c_str(), &status) == 0) {
      used = std::max(used, static_cast<std::size_t>(status.st_blocks) * 512);
    }
  };
  for (const Ending& ending : processes.wait()) EXPECT_EQ(ending.code, 0) << ending.said;
  // Every rank has slots, and each of the groups of a step or two a result.
  constexpr std::size_t kSlots = 3 * kRanks;
  constexpr std::size_t kResults = 3 * 2;
  EXPECT_GT(used, 0U);
  EXPECT_LT(used, (kSlots + kResults) * kBytes) << used / kBytes << " vectors";
}

}  // namespace
}  // namespace syncopate::testing
