// As many ranks as a board holds, and more than one board holds.
#include <gtest/gtest.h>

#include <vector>

#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr int kOnOneBoard = 200;  // The same code, in less time.
#else
constexpr int kOnOneBoard = 1024;
#endif

/// Everyone meets, everyone is in one sum, what everyone gives a partial one arrives there,
/// and the mean of groups is kept.
void give_and_take(World& world) {
  const int ranks = world.size();
  world.barrier();
  PartialAllreduce<double> together(world, 1, {.trigger = all(), .scale = Scale::none});
  const std::vector<double> own{double(world.rank())};
  const auto round = together.exchange(own).front();
  EXPECT_EQ(round.sum()[0], double(ranks) * (ranks - 1) / 2);
  EXPECT_EQ(round.receipt().contributors.size(), ranks);

  PartialAllreduce<double> relaxed(world, 1, {.trigger = first(), .scale = Scale::none});
  const std::vector<double> one{1.0};
  double total = 0;
  const auto follow = [&](const Round<double>& each) { total += each.sum()[0]; };
  for (int step = 0; step < 2; ++step) {
    for (const auto& each : relaxed.exchange(one)) follow(each);
  }
  relaxed.finish(follow);
  EXPECT_EQ(total, 2.0 * ranks);

  const std::vector<double> zero{0.0};
  GroupAverage<double> average(world, zero,
                               {.group_size = 8, .synchronize_every = 2, .trigger = all()});
  average.weights()[0] = world.rank();
  EXPECT_GE(average.average().members.size(), 8);
  EXPECT_EQ(average.average().members.size(), ranks);
  EXPECT_NEAR(average.weights()[0], (ranks - 1) / 2.0, 1e-9 * ranks);
}

TEST(ManyRanks, FillOneBoard) { on_threads(kOnOneBoard, give_and_take); }

TEST(ManyRanks, AreMoreThanOneBoardHolds) {
  const std::vector<int> sizes{kOnOneBoard, kOnOneBoard, kOnOneBoard / 5, 1};
  on_threads(machines_of_threads(sizes, false, memory_fabrics(int(sizes.size()))), give_and_take);
}

}  // namespace
}  // namespace syncopate::testing
