// Promise 4: arrival is a deposit, not a step count. Promise 5: a round does not start while a
// live rank has not seen the round a window before it.
#include "support/promise.h"

namespace syncopate::testing {
namespace {

class BoundedStaleness : public Promise {};

TEST_P(BoundedStaleness, NoContributionIsOlderThanTheWindow) {
  for (const int window : {1, 2, 8, 250}) {
    SCOPED_TRACE(window);
    Training training;
    training.options.trigger = trigger();
    training.options.window = window;
    training.elements = ranks() + 1;
    training.steps = 100 / thrift();
    training.straggler = 0;
    train(training);  // The audit looks at the staleness in every receipt.
  }
}

INSTANTIATE_TEST_SUITE_P(, BoundedStaleness, promise_grid(2, 3, 8, 13), Promise::kName);

struct Gate {
  std::atomic<bool> at_the_window;
  std::atomic<bool> back;
};

/// Whether another machine's rank may know of rounds that are on their way to this one.
bool on_their_way() { return on_several_boards(crew_of_this_program()); }

TEST(TheWindow, HoldsUpTheRoundBeyondItForTheLastRank) {
  for (const int window : {1, 3, 8}) {
    Common<Gate> gate;
    run(crew_of_this_program(), 2, [&](World& world) {
      PartialAllreduce<float> rounds(world, 1,
                                     {.trigger = first(), .scale = Scale::none, .window = window});
      const std::vector<float> one{1.0F};
      if (world.rank() == 0) {
        for (int i = 1; i <= window; ++i) {
          EXPECT_EQ(rounds.exchange(one).front().number(), static_cast<std::uint64_t>(i));
        }
        rounds.start(one);
        for (int look = 0; look < 1000; ++look) EXPECT_FALSE(rounds.ready());
        gate->at_the_window = true;
        const Rounds<float> next = rounds.wait();
        EXPECT_TRUE(gate->back) << "the round started before rank 1 had seen the first one";
        const Receipt receipt = next.front().receipt();
        // A rank that the operating system kept from waiting until the end has waited for none;
        // and so has one whose agent it kept from looking.
        const bool looked = receipt.waited.count() > 0 && !on_their_way();
        EXPECT_TRUE(receipt.waited_for == 1 || (receipt.waited_for == -1 && !looked));
        return;
      }
      while (!gate->at_the_window) be_away(1);
      const auto all_missed = static_cast<std::size_t>(window);
      std::size_t seen = 0;
      do {
        const Rounds<float> missed = rounds.wait();
        seen += missed.size();
        gate->back = true;
      } while (seen < all_missed && on_their_way());
      EXPECT_TRUE(seen == all_missed || on_their_way());
    });
  }
}

TEST(ArrivalIsADeposit, AChronicallySlowRankTakesPartWithoutLivingThroughMissedRounds) {
  // Rank 1 deposits once per eight rounds of rank 0. With a trigger that needs both, each
  // deposit of rank 1 lets a round start at once, however many rounds rank 1 is behind.
  constexpr int kTurns = 20;
  Common<Gate> gate;
  run(crew_of_this_program(), 2, [&](World& world) {
    PartialAllreduce<float> fast(world, 1, {.trigger = first(), .scale = Scale::none});
    PartialAllreduce<float> both(world, 1, {.trigger = count(2), .scale = Scale::none});
    const std::vector<float> one{1.0F};
    std::size_t seen = 0;
    for (std::size_t turn = 1; turn <= kTurns; ++turn) {
      if (world.rank() == 0) {
        for (int i = 0; i < 8; ++i) fast.exchange(one).pass();
      }
      const Rounds<float> rounds = both.exchange(one);
      EXPECT_EQ(rounds.size(), 1U);
      EXPECT_EQ(rounds.front().sum()[0], 2.0F);
      if (world.rank() == 0) continue;
      do {
        const Rounds<float> next = fast.wait();
        seen += next.size();
        next.pass();
      } while (seen < 8 * turn && on_their_way());
      EXPECT_TRUE(seen == 8 * turn || on_their_way()) << seen << " rounds, " << turn << " turns";
    }
  });
}

}  // namespace
}  // namespace syncopate::testing
