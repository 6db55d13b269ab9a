// One step after the other, with ranks that come in a known order: which weights a round uses
// for a rank that is late, that has just come, that never came, and that left.
#include <atomic>
#include <thread>
#include <vector>

#include "support/promise.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

/// Ranks do things in the order in which the test numbers them.
struct Baton {
  std::atomic<int> turn;

  template <typename Do>
  void at(int number, const Do& act) {
    while (turn != number) std::this_thread::yield();
    act();
    turn = number + 1;
  }
};

constexpr std::size_t kElements = 5;
const std::vector<double> kInitial(kElements, 100.0);

GroupOptions pairs(int window = 0) {
  return {.group_size = 2, .synchronize_every = 0, .window = window};
}

GroupReceipt average(GroupAverage<double>& weights, double value) {
  std::fill_n(weights.weights(), kElements, value);
  return weights.average();
}

void expect_all(GroupAverage<double>& weights, double value) {
  for (std::size_t e = 0; e < kElements; ++e) EXPECT_EQ(weights.weights()[e], value) << e;
}

TEST(GroupTurns, BeforeItsFirstPublicationARankHasTheInitialWeights) {
  Common<Baton> baton;
  run(crew_of_this_program(), 2, [&](World& world) {
    GroupAverage<double> weights(world, kInitial, pairs());
    expect_all(weights, 100);
    if (world.rank() == 0) {
      baton->at(0, [&] {
        const GroupReceipt receipt = average(weights, 8);
        EXPECT_TRUE(receipt.included);
        EXPECT_EQ(receipt.staleness, 1U);
        EXPECT_EQ(receipt.members.list(), (std::vector<int>{0, 1}));
        expect_all(weights, 54);
      });
      baton->at(2, [&] {
        // Rank 1 is through step 1 now, and late for step 2: what it published then is used.
        const GroupReceipt receipt = average(weights, 10);
        EXPECT_TRUE(receipt.included);
        EXPECT_EQ(receipt.staleness, 1U);
        expect_all(weights, (10 + 3) / 2.0);
      });
    } else {
      baton->at(1, [&] {
        const GroupReceipt receipt = average(weights, 3);
        EXPECT_FALSE(receipt.included);
        EXPECT_EQ(receipt.staleness, 1U);
        expect_all(weights, (100 + 8 + 3) / 3.0);
      });
      baton->at(3, [&] {
        const GroupReceipt receipt = average(weights, 5);
        EXPECT_FALSE(receipt.included);
        expect_all(weights, (10 + 3 + 5) / 3.0);
      });
    }
    world.barrier();
  });
}

TEST(GroupTurns, NobodyRunsAheadOfTheWindowWithItsOwnGroup) {
  constexpr int kWindow = 1;
  constexpr int kSteps = 8;
  for (const Trigger& trigger : {all(), first()}) {
    Common<Baton> slow;  // The step that rank 0 has begun.
    run(crew_of_this_program(), 8, [&](World& world) {
      GroupOptions options = pairs(kWindow);
      options.trigger = trigger;
      GroupAverage<double> weights(world, kInitial, options);
      for (int step = 1; step <= kSteps; ++step) {
        if (world.rank() == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          slow->turn = step;
        }
        average(weights, world.rank());
        EXPECT_LE(step - slow->turn, kWindow) << "rank " << world.rank();
      }
    });
  }
}

/// A rank that goes while a round of its group is under way goes when MPI is through with it.
TEST(GroupTurns, EverybodyMayGoWhileARoundIsUnderWay) {
  run(crew_of_this_program(), 4, [&](World& world) {
    const std::vector<double> initial(1 << 18, 1.0);
    for (int turn = 0; turn < 5; ++turn) {
      {
        GroupAverage<double> weights(world, initial, {.group_size = 4, .synchronize_every = 0});
        weights.start();
        weights.ready();
        std::this_thread::sleep_for(std::chrono::microseconds(400 * turn));
      }
      world.barrier();
    }
  });
}

TEST(GroupTurns, WhoKeepsItsStepsAddsThoseThatTheMeanHasNotSeen) {
  Common<Baton> baton;
  run(crew_of_this_program(), 2, [&](World& world) {
    GroupOptions options = pairs();
    options.late = LateMerge::keep;
    GroupAverage<double> weights(world, kInitial, options);
    const auto move = [&](double by) {
      for (std::size_t e = 0; e < kElements; ++e) weights.weights()[e] += by;
      return weights.average();
    };
    if (world.rank() == 0) {
      baton->at(0, [&] {
        for (const double expected : {104, 106, 107}) {  // Rank 1 still has 100.
          EXPECT_TRUE(move(8).included);
          expect_all(weights, expected);
        }
      });
      baton->at(2, [&] {
        EXPECT_EQ(move(8).staleness, 1U);
        expect_all(weights, (107 + 8 + 116) / 2.0);
      });
    } else {
      baton->at(1, [&] {
        GroupReceipt receipt = move(2);
        EXPECT_FALSE(receipt.included);
        EXPECT_EQ(receipt.own_staleness, 1U);
        expect_all(weights, 104 + 2);
        receipt = move(4);
        EXPECT_EQ(receipt.own_staleness, 2U);
        expect_all(weights, 106 + 2 + 4);
        receipt = move(4);
        EXPECT_EQ(receipt.own_staleness, 3U);
        expect_all(weights, 107 + 2 + 4 + 4);
      });
      baton->at(3, [&] {
        // The mean has what was published in step 3, of which the steps up to there are a part.
        EXPECT_EQ(move(1).own_staleness, 1U);
        expect_all(weights, 115.5 + 1);
      });
    }
    world.barrier();
  });
}

TEST(GroupTurns, WhatIsPublishedWhenTheRoundRunsIsInIt) {
  Common<Baton> baton;
  run(crew_of_this_program(), 2, [&](World& world) {
    GroupAverage<double> weights(world, kInitial, pairs());
    if (world.rank() == 1) {
      baton->at(0, [&] {
        std::fill_n(weights.weights(), kElements, 6.0);
        weights.start();
      });
      baton->at(2, [&] {
        // From another machine the mean may still be on its way.
        while (on_several_boards(crew_of_this_program()) && !weights.ready()) be_away(1);
        EXPECT_TRUE(weights.ready()) << "rank 0 has run the round";
        EXPECT_TRUE(weights.wait().included);
        expect_all(weights, 5);
      });
    } else {
      baton->at(1, [&] {
        const GroupReceipt receipt = average(weights, 4);
        EXPECT_EQ(receipt.staleness, 0U);
        expect_all(weights, 5);
      });
    }
    world.barrier();
  });
}

struct Gate {
  std::atomic<bool> at_the_window;
  std::atomic<bool> back;
};

TEST(GroupTurns, NobodyIsMoreThanTheWindowAhead) {
  for (const int window : {1, 3, 8}) {
    Common<Gate> gate;
    run(crew_of_this_program(), 2, [&](World& world) {
      GroupAverage<double> weights(world, kInitial, pairs(window));
      if (world.rank() == 0) {
        for (int i = 1; i <= window; ++i) {
          EXPECT_EQ(average(weights, 1).staleness, static_cast<std::uint64_t>(i));
        }
        weights.start();
        for (int look = 0; look < 1000; ++look) EXPECT_FALSE(weights.ready());
        gate->at_the_window = true;
        weights.wait();
        EXPECT_TRUE(gate->back) << "a step began before rank 1 was through the first";
        world.barrier();
        return;
      }
      while (!gate->at_the_window) std::this_thread::yield();
      gate->back = true;
      EXPECT_EQ(average(weights, 1).step, 1U);
      world.barrier();
    });
  }
}

TEST(GroupTurns, WhoLeavesIsNotCountedOnAnyMore) {
  for (const bool leaves : {true, false}) {
    Common<Baton> baton;
    run(crew_of_this_program(), 3, [&](World& world) {
      GroupAverage<double> weights(
          world, kInitial,
          {.group_size = 3, .synchronize_every = 3, .trigger = all(), .window = 2});
      EXPECT_EQ(average(weights, world.rank()).members.size(), 3);
      expect_all(weights, 1);
      if (world.rank() == 1) {
        if (leaves) weights.leave();
        return;  // Or its handle goes, which is the same.
      }
      for (int i = 0; i < 20; ++i) {
        const GroupReceipt receipt = average(weights, world.rank());
        EXPECT_EQ(receipt.members.list(), (std::vector<int>{0, 2}));
        EXPECT_TRUE(receipt.dead.empty());
        EXPECT_TRUE(receipt.included);
        expect_all(weights, 1);
      }
    });
  }
}

TEST(GroupTurns, WhoLeftLongAgoIsForgottenForEver) {
  // Steps since its last publication have only so many bits on the board.
  run(crew_of_this_program(), 3, [&](World& world) {
    world.set_timeout(std::chrono::seconds(10));
    GroupAverage<double> weights(world, kInitial, {.group_size = 3, .synchronize_every = 0});
    average(weights, 1);
    if (world.rank() == 1) return weights.leave();
    for (int i = 0; i < 5000; ++i) {
      const GroupReceipt receipt = average(weights, 1);
      ASSERT_LE(receipt.members.size(), 2 + (i < 16 ? 1 : 0));
    }
  });
}

TEST(GroupTurns, ASlowRankLeavesTheOthersOnTheirOwn) {
  // In groups that do not contain it, none waits for a rank within the window; and the last one of
  // a world goes on alone.
  run(crew_of_this_program(), 4, [&](World& world) {
    GroupAverage<double> weights(world, kInitial, pairs(8));
    for (int i = 0; i <= 10 * world.rank(); ++i) average(weights, 1);
    weights.leave();
  });
}

TEST(GroupTurns, SynchronizingStepsMakeAllReplicasTheSame) {
  Common<Baton> baton;
  run(crew_of_this_program(), 3, [&](World& world) {
    GroupAverage<double> weights(world, kInitial, {.group_size = 2, .synchronize_every = 2});
    for (int i = 1; i <= 20; ++i) {
      const GroupReceipt receipt = average(weights, i * (world.rank() + 1));
      if (i % 2 != 0) continue;
      EXPECT_TRUE(receipt.everyone);
      EXPECT_TRUE(receipt.included);
      expect_all(weights, i * 2);
    }
    world.barrier();
  });
}

void expect_timeout_because_of_rank_1(GroupAverage<double>& weights, World& world) {
  // Across machines it takes a while to find out.
  const bool across = on_several_boards(crew_of_this_program());
  world.set_timeout(std::chrono::milliseconds(across ? 800 : 50));
  expect_refused(ErrorCode::timeout,
                 {"rank 0 waited", across ? "for rank 1 " : "for rank 1 (", "in step"},
                 [&] { weights.wait(); });
  world.set_timeout(std::chrono::seconds(15));
}

TEST(GroupTimeout, NamesTheMemberThatIsWaitedForAndLosesNothing) {
  Common<Baton> baton;
  run(crew_of_this_program(), 3, [&](World& world) {
    GroupAverage<double> weights(world, kInitial,
                                 {.group_size = 3, .synchronize_every = 0, .trigger = all()});
    std::fill_n(weights.weights(), kElements, world.rank());
    if (world.rank() == 2) baton->at(0, [&] { weights.start(); });
    if (world.rank() == 0) {
      baton->at(1, [&] {
        weights.start();
        expect_timeout_because_of_rank_1(weights, world);
        EXPECT_FALSE(weights.ready());
      });
    }
    if (world.rank() == 1) baton->at(2, [&] { weights.start(); });
    EXPECT_TRUE(weights.wait().included);
    expect_all(weights, 1);
    world.barrier();
  });
}

TEST(GroupTimeout, NamesTheRankThatLagsByMoreThanTheWindow) {
  Common<Baton> baton;
  run(crew_of_this_program(), 2, [&](World& world) {
    // Rank 1 is in a group of its own.
    GroupAverage<double> weights(world, kInitial,
                                 {.group_size = 1, .synchronize_every = 0, .window = 2});
    if (world.rank() == 0) {
      average(weights, 1);
      average(weights, 2);
      std::fill_n(weights.weights(), kElements, 3.0);
      weights.start();
      expect_timeout_because_of_rank_1(weights, world);
      baton->at(0, [] {});
      EXPECT_EQ(weights.wait().step, 3U);
      expect_all(weights, 3);
    } else {
      baton->at(1, [&] { average(weights, 1); });
    }
    world.barrier();
  });
}

TEST(GroupTurns, TwoCollectivesDoNotDisturbEachOther) {
  run(crew_of_this_program(), 3, [&](World& world) {
    GroupAverage<double> one(world, kInitial, {.group_size = 3, .synchronize_every = 1});
    GroupAverage<double> other(world, kInitial, {.group_size = 3, .synchronize_every = 1});
    for (int i = 0; i < 20; ++i) {
      std::fill_n(one.weights(), kElements, world.rank());
      std::fill_n(other.weights(), kElements, world.rank() + 10);
      one.start();
      other.start();
      other.wait();
      one.wait();
      expect_all(one, 1);
      expect_all(other, 11);
    }
    world.barrier();
  });
}

TEST(GroupTurns, OfSixteenBitsMayHaveASumThatDoesNotFit) {
  Common<std::atomic<int>> through;
  run(crew_of_this_program(), 8, [&](World& world) {
    const std::vector<float16> large(kElements, float16(30000.0F));
    GroupAverage<float16> weights(world, std::span<const float16>(large),
                                  {.group_size = 4, .synchronize_every = 2});
    const auto expect_the_same = [&] {
      for (std::size_t e = 0; e < kElements; ++e) EXPECT_EQ(float(weights.weights()[e]), 30000.0F);
    };
    const bool last = world.rank() == 0;
    while (last && *through < 7) std::this_thread::yield();
    const bool included = weights.average().included;
    EXPECT_FALSE(last && included) << "the case of a late rank was not tested";
    expect_the_same();
    ++*through;
    EXPECT_TRUE(weights.average().everyone);
    expect_the_same();
    world.barrier();
  });
}

}  // namespace
}  // namespace syncopate::testing
