// Promise 7: what a receipt says is what happened. (The audit in every training compares
// contributors, weight and staleness with the sums; here are the cases one can write down.)
// Promise 8: the scale.
#include "support/promise.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

struct Turns {
  std::atomic<int> turn;
};

/// Lets ranks act one after another.
class Order {
 public:
  explicit Order(Turns& turns) : turns_(turns) {}
  void await(int turn) const {
    while (turns_.turn < turn) be_away(1);
  }
  void next() const { ++turns_.turn; }

 private:
  Turns& turns_;
};

const std::vector<float> kOne{1.0F};

TEST(Receipts, ALateDepositIsInTheNextRoundAndItsStalenessIsTold) {
  Common<Turns> turns;
  run(crew_of_this_program(), 2, [&](World& world) {
    const Order order(*turns);
    PartialAllreduce<float> rounds(world, 1, {.trigger = first(), .scale = Scale::none});
    if (world.rank() == 0) {
      const Receipt alone = rounds.exchange(kOne, 2).front().receipt();
      EXPECT_EQ(alone.contributors.list(), std::vector<int>{0});
      EXPECT_TRUE(alone.included);
      EXPECT_EQ(alone.weight, 2);
      EXPECT_EQ(alone.staleness, 0U);
      EXPECT_EQ(alone.waited_for, -1);
      order.next();
      order.await(2);
      const Receipt both = rounds.exchange(kOne).front().receipt();
      EXPECT_EQ(both.contributors.list(), (std::vector<int>{0, 1}));
      EXPECT_EQ(both.staleness, 1U) << "rank 1 had not seen round 1";
      EXPECT_EQ(both.weight, 4);
      order.next();
      return;
    }
    order.await(1);
    rounds.start(kOne, 3);
    order.next();
    order.await(3);
    std::vector<bool> included;
    do {
      for (const auto& round : rounds.wait()) included.push_back(round.receipt().included);
      // Another machine's rank may know of a round that is on its way to this one.
    } while (included.size() < 2 && on_several_boards(crew_of_this_program()));
    EXPECT_EQ(included, (std::vector<bool>{false, true}));
  });
}

TEST(Receipts, NameTheRankThatCameLast) {
  Common<Turns> turns;
  run(crew_of_this_program(), 3, [&](World& world) {
    const Order order(*turns);
    PartialAllreduce<float> rounds(world, 1, {.trigger = all(), .scale = Scale::none});
    if (world.rank() == 1) {
      order.await(2);
      // Machines tell who came last by a clock that is as exact as their messages are quick.
      if (on_several_boards(crew_of_this_program())) std::this_thread::sleep_for(100ms);
      EXPECT_EQ(rounds.exchange(kOne).front().receipt().waited_for, -1);
      return;
    }
    rounds.start(kOne);
    order.next();
    const Rounds<float> done = rounds.wait();
    const Receipt receipt = done.front().receipt();
    // A rank that the operating system kept from waiting until the end has waited for none.
    EXPECT_EQ(receipt.waited_for, receipt.waited > 0ns ? 1 : -1);
  });
}

TEST(Receipts, ReportDroppedDeposits) {
  Common<Turns> turns;
  run(crew_of_this_program(), 2, [&](World& world) {
    const Order order(*turns);
    PartialAllreduce<float> rounds(world, 1,
                                   {.trigger = first(), .late = drop(), .scale = Scale::none});
    if (world.rank() == 0) {
      EXPECT_TRUE(rounds.exchange(kOne).front().receipt().dropped.empty());
      order.next();
      order.await(2);
      const Rounds<float> second = rounds.exchange(kOne);
      EXPECT_EQ(second.front().receipt().dropped.list(), std::vector<int>{1});
      EXPECT_EQ(second.front().sum()[0], 2.0F);
      EXPECT_EQ(rounds.dropped(), 0U);
      order.next();
      return;
    }
    order.await(1);
    const Rounds<float> missed = rounds.exchange(kOne);
    EXPECT_EQ(rounds.dropped(), 1U);
    EXPECT_FALSE(missed.front().receipt().included);
    EXPECT_EQ(missed.front().sum()[0], 1.0F);
    rounds.start(kOne);
    EXPECT_EQ(rounds.dropped(), 1U);
    order.next();
    order.await(3);
    rounds.wait().pass();
  });
}

TEST(Receipts, AnEmptyArrivalCountsForTheTriggerAndIsNoContribution) {
  run(crew_of_this_program(), 3, [](World& world) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = all(), .scale = Scale::contributors});
    if (world.rank() == 0) {
      rounds.start_empty();
    } else {
      rounds.start(kOne);
    }
    const Rounds<float> done = rounds.wait();
    EXPECT_EQ(done.front().receipt().contributors.list(), (std::vector<int>{1, 2}));
    EXPECT_EQ(done.front().receipt().included, world.rank() != 0);
    EXPECT_EQ(done.front().mean()[0], 1.0F);
  });
}

TEST(Receipts, ARoundOfEmptyArrivalsIsZero) {
  for (const Scale scale : {Scale::ranks, Scale::contributors, Scale::weight}) {
    run(crew_of_this_program(), 2, [&](World& world) {
      PartialAllreduce<float> rounds(world, 3, {.trigger = all(), .scale = scale});
      const std::vector<float> nines(3, 9.0F);
      rounds.exchange(nines).pass();  // So that the memory is not zero by chance.
      for (int i = 0; i < 12; ++i) {
        rounds.start_empty();
        const Rounds<float> done = rounds.wait();
        EXPECT_TRUE(done.front().receipt().contributors.empty());
        EXPECT_EQ(done.front().receipt().weight, 0);
        for (const float value : done.front().mean()) EXPECT_EQ(value, 0.0F);
      }
    });
  }
}

TEST(Scale, DividesByRanksContributorsOrWeight) {
  struct Case {
    Scale scale;
    double divisor;
  };
  constexpr double kSizeOfTheWorld = 0;
  // Ranks 1, 2 and 4 of five deposit r + 1 with weight r.
  for (const Case& example : {Case{Scale::none, 1}, Case{Scale::ranks, kSizeOfTheWorld},
                              Case{Scale::contributors, 3}, Case{Scale::weight, 7}}) {
    run(crew_of_this_program(), 5, [&](World& world) {
      const double divisor = example.divisor == kSizeOfTheWorld ? world.size() : example.divisor;
      PartialAllreduce<double> rounds(world, 2, {.trigger = all(), .scale = example.scale});
      const int rank = world.rank();
      if (rank == 0 || rank == 3) {
        rounds.start_empty();
      } else {
        rounds.start(std::vector<double>{rank + 1.0, 1.0}, rank);
      }
      const Rounds<double> done = rounds.wait();
      const Round<double> round = done.front();
      const auto values = example.scale == Scale::none ? round.sum() : round.mean();
      EXPECT_DOUBLE_EQ(values[0], (2 * 1 + 3 * 2 + 5 * 4) / divisor);
      EXPECT_DOUBLE_EQ(values[1], 7 / divisor);
      EXPECT_EQ(round.receipt().weight, 7);
    });
  }
}

TEST(Scale, AMergedDepositKeepsBothWeights) {
  run(crew_of_this_program(), 1, [](World& world) {
    PartialAllreduce<double> rounds(world, 1, {.trigger = all(), .scale = Scale::weight});
    rounds.start(std::vector<double>{10.0}, 1);
    rounds.start(std::vector<double>{20.0}, 4);
    const Rounds<double> done = rounds.wait();
    EXPECT_DOUBLE_EQ(done.front().mean()[0], (10.0 * 1 + 20.0 * 4) / 5);
    EXPECT_EQ(done.front().receipt().weight, 5);
    EXPECT_EQ(done.front().receipt().contributors.size(), 1);
  });
}

}  // namespace
}  // namespace syncopate::testing
