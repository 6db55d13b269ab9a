// Partial sums over machines of one rank: the bits of one board, however the sum is divided, where
// it goes with the lines of the machines and where by parts; and by the fabric's own reduction.
// Over machines of several: in rank order on each, and then in the order of machines.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "fabric/sum_by_parts.h"
#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

/// The sum of such values depends on the order of the additions.
template <typename T>
T awkward(int rank, int step, std::size_t element) {
  using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int number = rank * 7919 + step * 31 + int(element);
  return T(std::sin(Real(number)) * std::exp2(Real(number % 12)));
}

/// What the ranks read in a round in which everyone is, three times. There is a sum that is not a
/// power of two to divide by.
template <typename T>
std::vector<T> sum_of(std::vector<World> worlds, std::size_t elements, Scale scale) {
  std::vector<T> result;
  on_threads(std::move(worlds), [&](World& world) {
    PartialAllreduce<T> rounds(world, elements, {.trigger = all(), .scale = scale});
    for (int step = 0; step < 3; ++step) {
      for (std::size_t e = 0; e < elements; ++e) {
        rounds.slot()[e] = awkward<T>(world.rank(), step, e);
      }
      const auto round = rounds.exchange().front();
      const auto values = scale == Scale::none ? round.sum() : round.mean();
      if (world.rank() == 0) result.insert(result.end(), values.begin(), values.end());
    }
  });
  return result;
}

std::vector<World> machines_of_one(int machines) {
  return machines_of_threads(std::vector<int>(machines, 1), false, memory_fabrics(machines));
}

template <typename T>
class SumOverMachines : public ::testing::Test {};
using Types = ::testing::Types<float, double, bfloat16, float16>;
TYPED_TEST_SUITE(SumOverMachines, Types);

TYPED_TEST(SumOverMachines, OfOneRankHasTheBitsOfOneBoard) {
  for (const std::size_t elements : {1, 301, 5003}) {  // With the lines, and by parts.
    for (const Scale scale : {Scale::none, Scale::ranks, Scale::contributors, Scale::weight}) {
      const auto one_board = sum_of<TypeParam>(World::threads(3), elements, scale);
      const auto machines = sum_of<TypeParam>(machines_of_one(3), elements, scale);
      ASSERT_EQ(one_board.size(), 3 * elements);
      ASSERT_EQ(machines.size(), 3 * elements);
      for (std::size_t i = 0; i < machines.size(); ++i) {
        ASSERT_EQ(std::memcmp(&machines[i], &one_board[i], sizeof machines[i]), 0)
            << "element " << i << ": " << float(machines[i]) << ", not " << float(one_board[i]);
      }
    }
  }
}

/// The same, added up in rank order on each machine, and then in the order of machines.
template <typename T>
std::vector<T> expected_sum(const std::vector<std::vector<int>>& machines, std::size_t elements) {
  std::vector<T> result;
  for (int step = 0; step < 3; ++step) {
    for (std::size_t e = 0; e < elements; ++e) {
      T total{0};
      for (const std::vector<int>& ranks : machines) {
        T of_machine{0};
        for (const int rank : ranks) of_machine += awkward<T>(rank, step, e);
        total += of_machine;
      }
      result.push_back(total);
    }
  }
  return result;
}

template <typename T>
void expect_documented_order(const std::vector<int>& sizes, bool dealt,
                             const std::vector<std::vector<int>>& ranks_of, std::size_t elements) {
  const int machines = static_cast<int>(sizes.size());
  const auto sum =
      sum_of<T>(machines_of_threads(sizes, dealt, memory_fabrics(machines)), elements, Scale::none);
  const auto expected = expected_sum<T>(ranks_of, elements);
  ASSERT_EQ(sum.size(), expected.size());
  for (std::size_t i = 0; i < sum.size(); ++i) {
    ASSERT_EQ(sum[i], expected[i]) << "element " << i << " of " << elements;
  }
  if (elements == 1) return;
  // Or the values would not tell one order from another.
  std::vector<std::vector<int>> other = ranks_of;
  std::ranges::reverse(other);
  // Two sums have no order.
  ASSERT_TRUE(machines == 2 || sum != expected_sum<T>(other, elements)) << "the machines' order";
  other = ranks_of;
  for (auto& ranks : other) std::ranges::reverse(ranks);
  ASSERT_TRUE(sum != expected_sum<T>(other, elements)) << "the ranks' order";
}

TEST(SumsOverMachines, OfSeveralRanksAreInRankOrderAndThenInTheOrderOfMachines) {
  struct Case {
    std::vector<int> sizes;
    bool dealt;
    std::vector<std::vector<int>> ranks_of;
  };
  const Case cases[] = {
      {{3, 1}, false, {{0, 1, 2}, {3}}},
      {{3, 2}, true, {{0, 2, 4}, {1, 3}}},
      {{1, 3, 2}, false, {{0}, {1, 2, 3}, {4, 5}}},
      {{1, 3, 2}, true, {{0}, {1, 3, 5}, {2, 4}}},
      {{3, 1, 4, 2, 3}, false, {{0, 1, 2}, {3}, {4, 5, 6, 7}, {8, 9}, {10, 11, 12}}},
      {{3, 1, 4, 2, 3}, true, {{0, 5, 9}, {1}, {2, 6, 10, 12}, {3, 7}, {4, 8, 11}}}};
  for (const auto& [sizes, dealt, ranks_of] : cases) {
    for (const std::size_t elements : {1, 301, 1024, 1025, 5003}) {  // The last two by parts.
      expect_documented_order<float>(sizes, dealt, ranks_of, elements);
    }
    expect_documented_order<double>(sizes, dealt, ranks_of, 301);
    expect_documented_order<double>(sizes, dealt, ranks_of, 2503);
  }
}

/// The deposit of a rank that is alone on its machine makes way for the result, but not this one.
TEST(SumsOverMachines, LeaveDepositsAloneThatRanksKeep) {
  constexpr std::size_t kElements = 5003;
  on_threads(machines_of_one(2), [&](World& world) {
    PartialAllreduce<float> rounds(world, kElements, {.trigger = all(), .scale = Scale::none});
    rounds.keep_deposits();
    for (int step = 1; step <= 3; ++step) {
      float* const mine = rounds.slot();
      std::fill_n(mine, kElements, float(step));
      const auto result = rounds.exchange();
      for (std::size_t e = 0; e < kElements; ++e) {
        ASSERT_EQ(mine[e], float(step)) << "element " << e;
        ASSERT_EQ(result.front().sum()[e], float(2 * step)) << "element " << e;
      }
    }
  });
}

/// Of means of halves a machine of several ranks divides its sum first, and so it does not when
/// only one of them contributes.
TEST(SumsOverMachines, OfHalvesAreRightAfterARoundOfSingleRanks) {
  constexpr std::size_t kElements = 5001;
  on_threads(machines_of_threads({2, 1}, false, memory_fabrics(2)), [&](World& world) {
    PartialAllreduce<float16> rounds(world, kElements, {.trigger = all(), .scale = Scale::ranks});
    for (int step = 0; step < 6; ++step) {
      const bool alone = step % 2 == 0;  // Rank 1, the second of its machine, has nothing.
      if (alone && world.rank() == 1) {
        rounds.start_empty();
      } else {
        std::fill_n(rounds.slot(), kElements, float16(float(3 * (world.rank() + 1))));
        rounds.start();
      }
      const auto result = rounds.wait();
      const float expected = alone ? 4 : 6;
      for (std::size_t e = 0; e < kElements; ++e) {
        ASSERT_EQ(float(result.front().mean()[e]), expected) << "element " << e << " of " << step;
      }
    }
  });
}

/// Too many bytes to go with the lines of so many machines, and too few to be cut into parts.
TYPED_TEST(SumOverMachines, GoesByTheFabricsOwnReduction) {
  constexpr int kMachines = 40;
  constexpr std::size_t kElements = (4 << 10) / sizeof(TypeParam);
  ASSERT_FALSE(fabric::SumByParts::pays(kElements * sizeof(TypeParam), kMachines));
  const auto whole = sum_of<TypeParam>(machines_of_one(kMachines), kElements, Scale::none);
  const auto mean = sum_of<TypeParam>(machines_of_one(kMachines), kElements, Scale::contributors);
  const auto one_board = sum_of<TypeParam>(World::threads(kMachines), kElements, Scale::none);
  const float within = sizeof(TypeParam) > 2 ? 0.1F : 50.F;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    ASSERT_NEAR(float(whole[i]), float(one_board[i]), within);
    ASSERT_NEAR(float(mean[i]), float(one_board[i]) / kMachines, within / kMachines);
  }
}

/// The mean of equal values is that value, however large or small.
void expect_mean(std::vector<World> worlds, Scale scale, double weight, float value, float within) {
  on_threads(std::move(worlds), [&](World& world) {
    for (const std::size_t elements : {5000, 100}) {  // By parts, and with the lines.
      PartialAllreduce<float16> rounds(world, elements, {.trigger = all(), .scale = scale});
      std::fill_n(rounds.slot(), elements, float16(value));
      const auto round = rounds.exchange(weight).front();
      for (const float16 mean : round.mean()) {
        ASSERT_NEAR(float(mean), float(float16(value)), within * value);
      }
    }
  });
}

TEST(SumsOverMachines, OfFloat16NeitherOverflowNorVanish) {
  const auto of_three = [] { return machines_of_threads({3, 1, 2}, false, memory_fabrics(3)); };
  for (const Scale scale : {Scale::ranks, Scale::contributors, Scale::weight}) {
    for (const float value : {60000.F, 1.F, 2e-7F, 6e-8F}) {
      expect_mean(machines_of_one(3), scale, 1, value, 1e-6F);
    }
    for (const float value : {60000.F, 1.F, 1e-3F}) {
      expect_mean(of_three(), scale, 1, value, 2e-3F);
    }
  }
  expect_mean(of_three(), Scale::weight, 300, 60000.F, 2e-3F);
}

TEST(SumsOverMachines, OfWeightsInFloat16KeepSmallOnes) {
  for (const int every : {1, 2}) {  // Everyone together, and groups.
    on_threads(machines_of_one(5), [&](World& world) {
      for (const float value : {1.79e-7F, 1.013e-6F, 1.00017e-4F, 60000.F}) {
        for (const std::size_t elements : {8000, 50}) {
          GroupAverage<float16> average(world, std::vector<float16>(elements, float16(value)),
                                        {.group_size = 3, .synchronize_every = every});
          const GroupReceipt receipt = average.average();
          for (std::size_t e = 0; e < elements; ++e) {
            ASSERT_EQ(float(average.weights()[e]), float(float16(value)))
                << "the mean of " << receipt.members.size() << " equal weights";
          }
          average.leave();
        }
      }
    });
  }
}

/// With a trigger that leaves ranks behind, so that deposits are added to while machines take them.
TEST(SumsOverMachines, LoseNothingOfWhatIsAddedMeanwhile) {
  constexpr std::size_t kElements = 20'000;
  constexpr int kSteps = 60;
  on_threads(machines_of_threads({1, 2, 1}, false, memory_fabrics(3)), [&](World& world) {
    PartialAllreduce<double> rounds(world, kElements, {.trigger = first(), .scale = Scale::none});
    std::vector<double> total(3);
    const auto follow = [&](const Round<double>& round) {
      total[0] += round.sum().front();
      total[1] += round.sum()[kElements / 3];
      total[2] += round.sum().back();
    };
    for (int step = 0; step < kSteps; ++step) {
      std::fill_n(rounds.slot(), kElements, 1.0);
      if ((step + world.rank()) % 3 != 0) {
        rounds.start();
      } else {
        for (const auto& round : rounds.exchange()) follow(round);
      }
    }
    rounds.finish(follow);
    EXPECT_EQ(total, std::vector<double>(3, 4.0 * kSteps));
  });
}

TEST(SumsOverMachines, ThatNobodyHasRoomForHoldNobodyUp) {
  const auto begin = std::chrono::steady_clock::now();
  on_threads(machines_of_one(2), [](World& world) {
    EXPECT_THROW(PartialAllreduce<float>(world, std::size_t{1} << 40), Error);
    PartialAllreduce<float> rounds(world, 5000, {.trigger = all(), .scale = Scale::none});
    std::fill_n(rounds.slot(), 5000, 1.0F);
    EXPECT_EQ(rounds.exchange().front().sum()[4999], 2.0F);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60))
      << "less than the timeout, for which an agent waits that has something left to do";
}

TEST(SumsOverMachines, GoesOverMoreThanGoByParts) {
  constexpr int kMachines = 70;
  constexpr std::size_t kElements = 40'000;
  ASSERT_FALSE(fabric::SumByParts::pays(kElements * sizeof(float), kMachines));
  ASSERT_TRUE(fabric::SumByParts::pays(kElements * sizeof(float), 64));
  on_threads(machines_of_one(kMachines), [&](World& world) {
    PartialAllreduce<float> rounds(world, kElements, {.trigger = all(), .scale = Scale::ranks});
    std::fill_n(rounds.slot(), kElements, float(world.rank()));
    const auto round = rounds.exchange().front();
    EXPECT_EQ(round.receipt().contributors.size(), kMachines);
    for (const float value : round.mean()) ASSERT_NEAR(value, (kMachines - 1) / 2.F, 1e-4F);
  });
}

}  // namespace
}  // namespace syncopate::testing
