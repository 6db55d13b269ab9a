// Sums over machines, whatever their number, which of them take part, and the length.
#include "fabric/sum_by_parts.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/memory_fabric.h"
#include "syncopate/types.h"

namespace syncopate::testing {
namespace {

using fabric::SumByParts;

/// What each machine of a world of `machines` that is among `taking_part` has in the end. Every
/// other one has the result in place of its own values.
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
  std::vector<std::vector<T>> values = mine;
  std::vector<SumByParts> sums;
  sums.reserve(taking_part.size());
  for (const int machine : taking_part) {
    sums.emplace_back(*channels[machine], taking_part, machine);
  }
  // Each begins the next as soon as it has done one, whatever the others are at.
  std::uint64_t moves = 0;
  std::vector<int> begun(sums.size()), done(sums.size());
  for (int look = 0; look < 100 * times; ++look) {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (begun[i] == done[i] && begun[i] < times) {
        ++begun[i];
        const bool in_place = i % 2 == 1;
        if (in_place) std::copy(mine[i].begin(), mine[i].end(), results[i].begin());
        sums[i].begin({.mine = in_place ? results[i].data() : values[i].data(),
                       .result = results[i].data(),
                       .elements = elements,
                       .type = data_type<T>,
                       .scale = scale},
                      4);
      }
      if (begun[i] > done[i] && sums[i].done(moves)) ++done[i];
    }
  }
  EXPECT_EQ(done, std::vector<int>(sums.size(), times));
  EXPECT_GE(moves, times * taking_part.size() * 4 * (taking_part.size() - 1))
      << "two messages out, two in for each";
  EXPECT_EQ(values, mine);
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

TEST(SumByParts, GoesPieceByPiece) {
  const std::size_t elements = 3 * SumByParts::piece_bytes(2) / sizeof(double) + 5;
  std::vector<std::vector<double>> mine(2, std::vector<double>(elements));
  std::vector<double> expected(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    mine[0][i] = double(i);
    mine[1][i] = 1;
    expected[i] = double(i + 1);
  }
  for (const auto& result : sum(mine, 2, {0, 1}, 1, 2)) EXPECT_EQ(result, expected);
}

TEST(SumByParts, AddsInTheOrderOfMachines) {
  std::vector<std::vector<float>> values(4, std::vector<float>(8));
  const std::vector<float> of{1e8F, 4.1F, -1e8F, 2.3F};
  for (int machine = 0; machine < 4; ++machine) {
    std::fill(values[machine].begin(), values[machine].end(), of[machine]);
  }
  const float expected = ((of[0] + of[1]) + of[2]) + of[3];
  ASSERT_NE(expected, ((of[1] + of[0]) + of[3]) + of[2]);
  ASSERT_NE(expected, ((of[3] + of[0]) + of[1]) + of[2]);
  ASSERT_NE(expected, ((of[2] + of[0]) + of[1]) + of[3]);
  for (const auto& result : sum(values, 4, {0, 1, 2, 3})) {
    EXPECT_EQ(result, std::vector<float>(8, expected));
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
  EXPECT_TRUE(SumByParts::pays(4 << 10, 16));
  EXPECT_FALSE(SumByParts::pays(4 << 10, 17));
  EXPECT_TRUE(SumByParts::pays(1 << 20, 64));
  EXPECT_FALSE(SumByParts::pays(1 << 30, 65));
}

}  // namespace
}  // namespace syncopate::testing
