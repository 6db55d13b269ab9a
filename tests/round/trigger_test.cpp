// When a round starts, as a table; and the draw of the rank that starts it.
#include "round/trigger.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace syncopate::round {
namespace {

struct Example {
  Attendance attendance;
  bool all, first, majority, count_of_three;
};

TEST(Trigger, HoldsAsItsNameSays) {
  const Example examples[] = {
      // No rank has a deposit: nothing starts, whichever waits.
      {{.counting = 4, .counting_here = 0, .here = 0}, false, false, false, false},
      {{.counting = 4, .counting_here = 1, .here = 1}, false, true, false, false},
      {{.counting = 4, .counting_here = 1, .here = 1, .drawn_here = true},
       false,
       true,
       true,
       false},
      {{.counting = 4, .counting_here = 2, .here = 2}, false, true, false, false},
      {{.counting = 4, .counting_here = 3, .here = 3}, false, true, false, true},
      {{.counting = 4, .counting_here = 4, .here = 4, .drawn_here = true}, true, true, true, true},
      // What a rank left behind when it went counts for the number, not for the others' sake.
      {{.counting = 4, .counting_here = 2, .here = 3}, false, true, false, true},
      // Fewer are left than the trigger asks for: everyone is enough.
      {{.counting = 2, .counting_here = 2, .here = 2}, true, true, true, true},
      {{.counting = 1, .counting_here = 1, .here = 1}, true, true, true, true},
      // All are gone, and one left something behind.
      {{.counting = 0, .counting_here = 0, .here = 1}, true, true, true, true},
      {{.counting = 0, .counting_here = 0, .here = 0}, false, false, false, false},
  };
  int number = 0;
  for (const Example& example : examples) {
    SCOPED_TRACE(number++);
    EXPECT_EQ(holds(all(), example.attendance), example.all);
    EXPECT_EQ(holds(first(), example.attendance), example.first);
    EXPECT_EQ(holds(majority(), example.attendance), example.majority);
    EXPECT_EQ(holds(count(3), example.attendance), example.count_of_three);
  }
}

TEST(Draw, IsFair) {
  constexpr int kRounds = 30000;
  for (const int ranks : {1, 2, 3, 7, 32}) {
    std::vector<int> drawn(ranks);
    for (int round = 1; round <= kRounds; ++round) {
      ++drawn[draw(1, round, ranks, [](int) { return true; })];
    }
    const double expected = double(kRounds) / ranks;
    for (const int count : drawn) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected));
  }
}

TEST(Draw, DependsOnTheSeedAndTheRoundOnly) {
  const auto everyone = [](int) { return true; };
  int same = 0;
  for (int round = 1; round <= 1000; ++round) {
    EXPECT_EQ(draw(5, round, 13, everyone), draw(5, round, 13, everyone));
    same += draw(5, round, 13, everyone) == draw(6, round, 13, everyone) ? 1 : 0;
  }
  EXPECT_LT(same, 200) << "another seed, other draws";
}

TEST(Draw, PassesTheTurnOfOneWhoIsGoneToTheOthersFairly) {
  std::vector<int> drawn(4);
  for (int round = 1; round <= 30000; ++round) {
    const auto without_two = [](int rank) { return rank != 2; };
    const int rank = draw(9, round, 4, without_two);
    const int usual = draw(9, round, 4, [](int) { return true; });
    if (usual != 2) {
      EXPECT_EQ(rank, usual) << "the others' turns stay";
    }
    ++drawn[rank];
  }
  EXPECT_EQ(drawn[2], 0);
  for (const int rank : {0, 1, 3}) EXPECT_NEAR(drawn[rank], 10000, 600);
}

TEST(Draw, FindsTheOnlyOneLeftAmongMany) {
  for (int round = 1; round <= 100; ++round) {
    EXPECT_EQ(draw(1, round, 1024, [](int rank) { return rank == 777; }), 777);
  }
  EXPECT_EQ(draw(1, 1, 8, [](int) { return false; }), -1);
}

}  // namespace
}  // namespace syncopate::round
