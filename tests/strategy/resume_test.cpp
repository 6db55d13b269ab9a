// A training that is stopped, saved and resumed in a new world ends with the same bits where
// nothing depends on timing; and what a strategy has learnt meanwhile is kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "strategy/gradient_reference.h"
#include "strategy/learner.h"
#include "strategy/names.h"

namespace syncopate::testing {
namespace {

constexpr Rule kRule{.rate = 0.05F, .momentum = 0.9F};

/// What a checkpoint keeps of one rank.
struct Saved {
  Vector weights{1, -2, 3, 0.5F};
  Vector velocity = Vector(4);
  StrategyState state;
  bool resumed = false;
  int steps = 0;
  std::uint64_t exchanges = 0;
  long notes = 0;
};

/// Goes on from what was saved, for so many steps; and then saves again, or ends.
Saved go_on(World& world, const std::string& strategy, Saved saved, int steps, bool ends) {
  VectorLearner learner(saved.weights, kRule);
  learner.velocity() = saved.velocity;
  learner.on_exchange = [&](const VectorLearner::Told& told) {
    if (told.exchange.agreed) {
      EXPECT_GT(told.exchange.number, saved.exchanges) << "numbers go on where they were";
      saved.exchanges = told.exchange.number;
      saved.notes += std::lround(told.notes[0]);
    }
  };
  const auto made = make_strategy(
      strategy, {.world = world, .learner = learner, .start = Start::as_they_are, .notes = 1});
  if (saved.resumed) made->load(saved.state);
  for (int i = 0; i < steps; ++i, ++saved.steps) {
    dawdle(i % 3, unsigned(i));
    take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
      const Numbers fresh =
          some_gradient(world.rank(), saved.steps, {weights.begin(), weights.end()});
      std::copy(fresh.begin(), fresh.end(), gradient.begin());
      made->notes()[0] = 1;
    });
  }
  if (ends) {
    made->finish();
  } else {
    world.barrier();
    saved.state = made->save();
    saved.resumed = true;
    world.barrier();
  }
  saved.weights = to_vector(learner.weights());
  saved.velocity = learner.velocity();
  return saved;
}

std::vector<Saved> train(const std::string& strategy, int ranks, const std::vector<int>& runs) {
  std::vector<Saved> saved(ranks);
  for (std::size_t run = 0; run < runs.size(); ++run) {
    with_ranks(ranks, [&](World& world) {
      Saved& mine = saved[world.rank()];
      mine = go_on(world, strategy, mine, runs[run], run + 1 == runs.size());
    });
  }
  return saved;
}

class Resumed : public ::testing::TestWithParam<const char*> {};

TEST_P(Resumed, EndsWithTheSameBits) {
  for (const int ranks : {1, 2, 3}) {
    const auto whole = train(GetParam(), ranks, {41});
    for (const std::vector<int>& runs : {std::vector{20, 21}, {3, 1, 6, 31}, {6, 0, 35}}) {
      const auto parts = train(GetParam(), ranks, runs);
      for (int rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(parts[rank].weights, whole[rank].weights);
        EXPECT_EQ(parts[rank].velocity, whole[rank].velocity);
        EXPECT_EQ(parts[rank].exchanges, whole[rank].exchanges);
        EXPECT_EQ(parts[rank].notes, 41 * ranks) << "notes are kept between two averages";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Strategy, Resumed,
                         ::testing::Values("sync", "local:1", "local:4", "post-local:6:4",
                                           "post-local:30:3", "dropcompute:1s"),
                         name_by_strategy);

TEST(ResumedWagma, KeepsNotesThatAreOnTheirWay) {
  for (const auto& saved : train("wagma:2:5", 4, {8, 9})) EXPECT_EQ(saved.notes, 17 * 4);
}

TEST(ResumedDropCompute, KeepsTheDeadline) {
  using namespace std::chrono_literals;
  StrategyState state;
  for (const bool resumed : {false, true}) {
    with_ranks(1, [&](World& world) {
      VectorLearner learner(Vector(2));
      const auto made = make_strategy("dropcompute:parts=2", {.world = world, .learner = learner});
      if (resumed) made->load(state);
      for (int step = 0; step < 20 && !resumed; ++step) {
        take_step(*made, learner, [&](auto, std::span<float> gradient) {
          std::ranges::fill(gradient, 0);
          made->enough(1s);
          made->enough(30s);
        });
      }
      EXPECT_TRUE(made->enough(1s));
      EXPECT_FALSE(made->enough(500ms));
      state = made->save();
    });
  }
}

TEST(ResumedBiasedLocal, KeepsLossesThatWereNotExchangedYet) {
  // Sixteen averages make a period; each part has four.
  std::vector<StrategyState> states(2);
  for (int part = 0; part < 4; ++part) {
    with_ranks(2, [&](World& world) {
      VectorLearner learner(Vector(2));
      const auto made =
          make_strategy("biased-local:1:alpha=1",
                        {.world = world, .learner = learner, .samples = 64, .batch = 2});
      if (part > 0) made->load(states[world.rank()]);
      for (int step = 0; step < 4; ++step) {
        made->note_losses(made->choose(2), Vector{1, 2});
        take_step(*made, learner,
                  [](auto, std::span<float> gradient) { std::ranges::fill(gradient, 0); });
      }
      states[world.rank()] = made->save();
      made->finish();
    });
    const Vector& losses = states[0].vector("losses");
    EXPECT_EQ(std::ranges::any_of(losses, [](float loss) { return std::isfinite(loss); }),
              part == 3)
        << part;
  }
}

TEST(ResumedBiasedLocal, KeepsStepsAndLosses) {
  using namespace std::chrono_literals;
  const std::vector<Duration> times{4ms, 1ms};
  std::vector<StrategyState> states(2);
  for (const bool resumed : {false, true}) {
    with_ranks(2, [&](World& world) {
      const int rank = world.rank();
      VectorLearner learner(Vector(2));
      const auto made = make_strategy(
          "biased-local:4", {.world = world, .learner = learner, .samples = 32, .batch = 2});
      if (resumed) made->load(states[rank]);
      std::vector<int> steps(12);
      while (learner.told.size() < steps.size()) {
        ++steps[learner.told.size()];
        made->note_losses(made->choose(2), Vector{1, 2});
        take_step(
            *made, learner, [](auto, std::span<float> gradient) { std::ranges::fill(gradient, 0); },
            times[rank]);
      }
      EXPECT_EQ(steps.front(), resumed && rank == 1 ? 4 : 1);
      EXPECT_EQ(steps.back(), rank == 1 ? 4 : 1);
      states[rank] = made->save();
      made->finish();
    });
    const Vector& losses = states[0].vector("losses");
    EXPECT_EQ(losses, states[1].vector("losses"));
    EXPECT_TRUE(std::ranges::all_of(losses, [](float loss) { return loss >= 1 && loss <= 2; }));
  }
}

}  // namespace
}  // namespace syncopate::testing
