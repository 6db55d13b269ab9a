// Promise 2: all ranks that read a round read the same bits, the sum in rank order. Promise 3:
// no rank skips a round. Together: replicas never drift apart.
#include <cmath>

#include "support/promise.h"

namespace syncopate::testing {
namespace {

/// Numbers whose sum depends on the order of the additions.
float awkward(int rank, int step, std::size_t element) {
  return std::sin(static_cast<float>(rank * 7919 + step * 104729 + element * 31 + 1)) *
         std::exp2(static_cast<float>((rank * 5 + element) % 24));
}

class OneResult : public Promise {};

TEST_P(OneResult, IsTheSumInRankOrderBitForBit) {
  constexpr std::size_t kElements = 5003;
  constexpr int kSteps = 20;
  run(crew(), ranks(), [&](World& world) {
    // Every rank waits for every other here, whatever the trigger: the sum is known beforehand.
    PartialAllreduce<float> rounds(world, kElements,
                                   {.trigger = count(world.size()), .scale = Scale::none});
    for (int step = 0; step < kSteps; ++step) {
      float* slot = rounds.slot();
      for (std::size_t e = 0; e < kElements; ++e) slot[e] = awkward(world.rank(), step, e);
      for (const auto& round : rounds.exchange()) {
        for (std::size_t e = 0; e < kElements; ++e) {
          float expected = awkward(0, step, e);
          for (int rank = 1; rank < world.size(); ++rank) expected += awkward(rank, step, e);
          // On machines of several ranks it is another order (machine_sum_test.cpp).
          if (on_several_boards(crew())) {
            ASSERT_NEAR(round.sum()[e], expected, 1e-6F * std::exp2(24.0F) * world.size());
          } else {
            ASSERT_EQ(round.sum()[e], expected) << "step " << step << ", element " << e;
          }
        }
      }
    }
  });
}

/// The bits of the model that each rank ends up with.
struct Models {
  std::atomic<std::uint64_t> bits[AuditBook::kRanks];
};

TEST_P(OneResult, EveryReplicaEndsWithTheSameModel) {
  constexpr std::size_t kElements = 33;
  const int steps = 200 / thrift();
  Common<Models> models;
  run(crew(), ranks(), [&](World& world) {
    PartialAllreduce<float> rounds(world, kElements, {.trigger = trigger(), .window = 4});
    std::vector<float> model(kElements, 1.0F);
    // An update that does not commute: a rank that skipped or reordered rounds would show.
    const auto apply = [&](const Round<float>& round) {
      const auto mean = round.mean();
      for (std::size_t e = 0; e < kElements; ++e) model[e] = model[e] * 0.9F + mean[e];
    };
    std::mt19937_64 random(world.rank());
    for (int step = 0; step < steps; ++step) {
      be_away(static_cast<int>(random() % 4) * (world.rank() == 0 ? 20 : 1));
      float* slot = rounds.slot();
      for (std::size_t e = 0; e < kElements; ++e) slot[e] = awkward(world.rank(), step, e);
      for (const auto& round : rounds.exchange()) apply(round);
    }
    rounds.finish(apply);
    models->bits[world.rank()] = std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(model.data()), kElements * sizeof(float)});
  });
  for (int rank = 1; rank < ranks(); ++rank) {
    EXPECT_EQ(models->bits[rank], models->bits[0]) << "rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(, OneResult, promise_grid(1, 2, 3, 8, 13), Promise::kName);

class NoRoundIsSkipped : public Promise {};

struct Gate {
  std::atomic<int> through;
};

TEST_P(NoRoundIsSkipped, ARankThatWasAwayGetsEveryRoundInOrder) {
  constexpr int kWindow = 6;
  Common<Gate> gate;
  run(crew(), ranks(), [&](World& world) {
    PartialAllreduce<float> rounds(world, 3,
                                   {.trigger = first(), .scale = Scale::none, .window = kWindow});
    std::uint64_t seen = 0;
    const auto follow = [&](const Round<float>& round) {
      EXPECT_EQ(round.number(), ++seen);
      EXPECT_EQ(round.receipt().round, seen);
    };
    if (world.rank() == 0) {
      while (gate->through < world.size() - 1) be_away(1);
      do {
        const Rounds<float> missed = rounds.wait();
        for (const auto& round : missed) follow(round);
        // Another machine's rank may know of a round that is on its way to this one.
      } while (seen < kWindow && on_several_boards(crew()));
      EXPECT_EQ(seen, static_cast<std::size_t>(kWindow));
    } else {
      const std::vector<float> ones(3, 1.0F);
      while (seen < kWindow) {
        for (const auto& round : rounds.exchange(ones)) follow(round);
      }
      ++gate->through;
    }
    rounds.finish(follow);
  });
}

INSTANTIATE_TEST_SUITE_P(, NoRoundIsSkipped, promise_grid(2, 3, 8, 32), Promise::kName);

}  // namespace
}  // namespace syncopate::testing
