// Sums over machines, whatever their number, which of them take part, and the length.
#include "collective/sum_by_parts.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/memory_fabric.h"
#include "syncopate/types.h"

namespace syncopate::testing {
namespace {

using detail::SumByParts;

/// What each machine of a world of `machines` that is among `taking_part` has in the end.
template <typename T>
std::vector<std::vector<T>> sum(const std::vector<std::vector<T>>& mine, int machines,
                                const std::vector<int>& taking_part, double scale = 1,
                                int times = 1) {
  const auto fabrics = memory_fabrics(machines);
  std::vector<std::unique_ptr<fabric::Channel>> channels(machines);
  for (int machine = 0; machine < machines; ++machine) {
    EXPECT_TRUE(fabrics[machine]->open(channels[machine])->done());
  }
  const std::size_t elements = mine.front().size();
  std::vector<std::vector<T>> results(taking_part.size(), std::vector<T>(elements + 1, T(77.F)));
  std::vector<SumByParts> sums;
  sums.reserve(taking_part.size());
  for (const int machine : taking_part) {
    sums.emplace_back(*channels[machine], taking_part, machine);
  }
  std::uint64_t moves = 0;
  for (int time = 0; time < times; ++time) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i].begin({.mine = mine[i].data(),
                     .result = results[i].data(),
                     .elements = elements,
                     .type = data_type<T>,
                     .scale = scale},
                    4);
    }
    std::vector<bool> done(sums.size());
    for (int look = 0; look < 10; ++look) {
      for (std::size_t i = 0; i < sums.size(); ++i) done[i] = sums[i].done(moves);
    }
    EXPECT_EQ(done, std::vector<bool>(sums.size(), true));
  }
  const std::size_t others = taking_part.size() - 1;
  EXPECT_EQ(moves, times * taking_part.size() * 4 * others) << "two messages out, two in for each";
  for (auto& result : results) {
    EXPECT_EQ(static_cast<float>(result.back()), 77.F) << "written beyond the end";
    result.pop_back();
  }
  return results;
}

TEST(SumByParts, IsRightForEveryLengthAndNumberOfMachines) {
  for (const int machines : {1, 2, 3, 5, 8, 17}) {
    std::vector<int> all(machines);
    for (int i = 0; i < machines; ++i) all[i] = i;
    for (const std::size_t elements : {0, 1, 2, 7, 16, 255, 4099}) {
      std::vector<std::vector<float>> mine(machines, std::vector<float>(elements));
      std::vector<float> expected(elements);
      for (int machine = 0; machine < machines; ++machine) {
        for (std::size_t i = 0; i < elements; ++i) {
          mine[machine][i] = float(machine + 1) * float(i % 11);
          expected[i] += mine[machine][i];
        }
      }
      for (const auto& result : sum(mine, machines, all)) EXPECT_EQ(result, expected);
    }
  }
}

TEST(SumByParts, GoesAmongSomeMachinesAndAgainAndAgain) {
  const std::vector<std::vector<float>> mine{{1, 2, 3, 4}, {10, 20, 30, 40}, {.5, .5, .5, .5}};
  const std::vector<float> expected{5.75, 11.25, 16.75, 22.25};
  for (const auto& result : sum(mine, 7, {1, 4, 6}, 0.5, 3)) EXPECT_EQ(result, expected);
}

TEST(SumByParts, AddsInTheOrderOfMachines) {
  // In any other order the small ones are lost, or the large ones leave something else.
  const std::vector<std::vector<float>> mine{{1e8F, 1e8F}, {-1e8F, -1e8F}, {0.1F, 0.1F}};
  for (const auto& result : sum(mine, 3, {0, 1, 2})) {
    EXPECT_EQ(result, (std::vector<float>{0.1F, 0.1F}));
  }
}

TEST(SumByParts, RoundsSixteenBitsOnce) {
  // 256 + 1 has no bfloat16, and adding the ones one by one would add nothing.
  const std::vector<std::vector<bfloat16>> mine{
      {bfloat16(256.F)}, {bfloat16(1.F)}, {bfloat16(1.F)}};
  for (const auto& result : sum(mine, 3, {0, 1, 2})) {
    EXPECT_EQ(static_cast<float>(result.front()), 258.F);
  }
}

TEST(SumByParts, PaysWhereMessagesAreNeitherTooSmallNorTooMany) {
  EXPECT_TRUE(SumByParts::pays(4 << 10, 2));
  EXPECT_FALSE(SumByParts::pays(4 << 10, 3));
  EXPECT_TRUE(SumByParts::pays(1 << 20, 64));
  EXPECT_FALSE(SumByParts::pays(1 << 30, 65));
}

}  // namespace
}  // namespace syncopate::testing
