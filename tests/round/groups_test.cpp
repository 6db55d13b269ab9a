// Who averages with whom: the butterfly of the paper, groups for every other size, and how fast
// news gets around.
#include "round/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace syncopate::round {
namespace {

using Groups = std::set<std::vector<int>>;

Groups groups_at(const GroupSchedule& schedule, int ranks, std::uint64_t step) {
  Groups groups;
  for (int rank = 0; rank < ranks; ++rank) groups.insert(schedule.members(step, rank));
  return groups;
}

TEST(Groups, OfEightInFoursAreThoseOfThePaper) {
  const GroupSchedule schedule(8, 4, true, 1);
  EXPECT_EQ(groups_at(schedule, 8, 0), (Groups{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(groups_at(schedule, 8, 1), (Groups{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(groups_at(schedule, 8, 2), (Groups{{0, 2, 4, 6}, {1, 3, 5, 7}}));
  EXPECT_EQ(groups_at(schedule, 8, 3), groups_at(schedule, 8, 0));
}

TEST(Groups, OfPowersOfTwoFollowTheBitsOfTheRank) {
  for (int bits = 0; bits <= 6; ++bits) {
    for (int width = 0; width <= bits; ++width) {
      const int ranks = 1 << bits;
      const GroupSchedule schedule(ranks, 1 << width, true, 1);
      for (std::uint64_t step = 0; step < 20; ++step) {
        unsigned mask = 0;
        for (int i = 0; i < width; ++i) mask |= 1U << ((step * width + i) % bits);
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<int> expected;
          for (int other = 0; other < ranks; ++other) {
            if ((unsigned(rank ^ other) & ~mask) == 0) expected.push_back(other);
          }
          ASSERT_EQ(schedule.members(step, rank), expected)
              << ranks << " ranks, groups of " << (1 << width) << ", step " << step;
        }
      }
    }
  }
}

void expect_partition(const GroupSchedule& schedule, int ranks, int size, std::uint64_t step) {
  SCOPED_TRACE(std::to_string(ranks) + " ranks, groups of " + std::to_string(size) + ", step " +
               std::to_string(step));
  std::vector<std::vector<int>> by_number(schedule.groups());
  for (int rank = 0; rank < ranks; ++rank) {
    const int group = schedule.group_of(step, rank);
    ASSERT_GE(group, 0);
    ASSERT_LT(group, schedule.groups());
    by_number[group].push_back(rank);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    // Members of one group, and only they, have its number; and they come in order.
    ASSERT_EQ(schedule.members(step, rank), by_number[schedule.group_of(step, rank)]);
  }
  for (const std::vector<int>& group : by_number) {
    EXPECT_GE(static_cast<int>(group.size()), size) << "smaller than was asked for";
  }
}

TEST(Groups, AreAPartitionOfTheRanksAtEveryStep) {
  constexpr std::uint64_t kFar = (std::uint64_t{1} << 52) - 3;
  for (int ranks = 1; ranks <= 24; ++ranks) {
    for (int size = 1; size <= ranks; ++size) {
      for (const bool rotate : {true, false}) {
        const GroupSchedule schedule(ranks, size, rotate, 7);
        EXPECT_LE(schedule.groups(), std::max(1, ranks / size));
        for (const std::uint64_t step : {0, 1, 2, 3, 17, 1000}) {
          expect_partition(schedule, ranks, size, step);
        }
        expect_partition(schedule, ranks, size, kFar);
      }
    }
  }
}

/// Whether news from every rank has reached every other after the steps from `start` on.
bool all_heard(const GroupSchedule& schedule, int ranks, std::uint64_t start, int steps) {
  std::vector<std::vector<bool>> heard(ranks, std::vector<bool>(ranks));
  for (int rank = 0; rank < ranks; ++rank) heard[rank][rank] = true;
  for (int i = 0; i < steps; ++i) {
    auto next = heard;
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int member : schedule.members(start + i, rank)) {
        for (int from = 0; from < ranks; ++from) {
          if (heard[member][from]) next[rank][from] = true;
        }
      }
    }
    heard = std::move(next);
  }
  return std::all_of(heard.begin(), heard.end(), [](const std::vector<bool>& one) {
    return std::all_of(one.begin(), one.end(), [](bool known) { return known; });
  });
}

int logarithm_rounded_up(int value, int base) {
  int power = 0;
  for (long reached = 1; reached < value; reached *= base) ++power;
  return power;
}

void expect_news_to_spread(int ranks, int size, std::uint64_t seed, int starts) {
  const GroupSchedule schedule(ranks, size, true, seed);
  const int steps = logarithm_rounded_up(ranks, size);
  EXPECT_EQ(GroupSchedule::steps_to_reach_all(ranks, size), steps);
  for (int start = 0; start < starts; ++start) {
    EXPECT_TRUE(all_heard(schedule, ranks, start, steps))
        << ranks << " ranks, groups of " << size << ", from step " << start;
  }
}

TEST(News, ReachesEveryoneInLogarithmicallyManySteps) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int size = 2; size <= ranks; ++size) expect_news_to_spread(ranks, size, ranks + size, 4);
  }
}

TEST(News, ReachesEveryoneInTimeInLargerWorldsToo) {
  constexpr std::pair<int, int> kWorlds[] = {{63, 4}, {77, 3},  {124, 5}, {64, 8},
                                             {97, 2}, {96, 10}, {128, 4}, {101, 7}};
  for (const auto& [ranks, size] : kWorlds) expect_news_to_spread(ranks, size, 1, 5);
}

TEST(Groups, ThatDoNotRotateStayThoseOfStepZero) {
  for (const auto& [ranks, size] : {std::pair{8, 4}, {13, 3}, {16, 2}, {7, 7}, {6, 1}}) {
    const GroupSchedule fixed(ranks, size, false, 3);
    const GroupSchedule rotating(ranks, size, true, 3);
    for (const std::uint64_t step : {0, 1, 2, 5, 1000}) {
      EXPECT_EQ(groups_at(fixed, ranks, step), groups_at(fixed, ranks, 0));
    }
    EXPECT_EQ(fixed.groups() == 1, groups_at(fixed, ranks, 0).size() == 1);
    EXPECT_EQ(groups_at(fixed, ranks, 0), groups_at(rotating, ranks, 0));
  }
}

TEST(Groups, ThatRotateDoChange) {
  for (const auto& [ranks, size] : {std::pair{8, 4}, {13, 3}, {16, 2}, {32, 8}, {9, 3}}) {
    const GroupSchedule schedule(ranks, size, true, 3);
    EXPECT_NE(groups_at(schedule, ranks, 0), groups_at(schedule, ranks, 1)) << ranks;
  }
}

TEST(Groups, AreTheSameOnEveryRankThatHasTheSeed) {
  for (const auto& [ranks, size] : {std::pair{13, 3}, {24, 5}, {6, 2}}) {
    const GroupSchedule one(ranks, size, true, 42);
    const GroupSchedule other(ranks, size, true, 42);
    const GroupSchedule different(ranks, size, true, 43);
    for (std::uint64_t step = 0; step < 10; ++step) {
      EXPECT_EQ(groups_at(one, ranks, step), groups_at(other, ranks, step));
    }
    EXPECT_NE(groups_at(one, ranks, 0), groups_at(different, ranks, 0)) << "the seed is not used";
  }
}

TEST(Groups, HaveTheSquareRootOfTheRanksUnlessSaidOtherwise) {
  constexpr std::pair<int, int> kDefaults[] = {{1, 1},  {2, 2},  {3, 2},  {4, 2},    {5, 2},
                                               {6, 2},  {7, 3},  {8, 4},  {9, 3},    {12, 3},
                                               {13, 4}, {16, 4}, {32, 8}, {100, 10}, {1024, 32}};
  for (const auto& [ranks, size] : kDefaults) {
    EXPECT_EQ(GroupSchedule::default_size(ranks), size) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace syncopate::round
