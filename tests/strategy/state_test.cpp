// What a strategy takes back from a checkpoint: all that it has saved, and nothing that is not what
// is due. A state that is refused has changed nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>

#include "strategy/learner.h"
#include "strategy/names.h"
#include "strategy/play.h"
#include "support/refusal.h"

namespace syncopate::testing {
namespace {

constexpr int kRanks = 2;
constexpr std::size_t kNotes = 2;

/// Each strategy, and some of them in another stage.
const char* const kStrategies[] = {
    "sync",          "eager-solo:grace=off", "eager-solo:grace=off:anticipate=off",
    "local:4",       "eager-quorum:1",       "eager-majority",
    "m-sync:1",      "dropcompute",          "dropcompute:1s",
    "wagma:2:5",     "post-local:2:3",       "post-local:9:3",
    "biased-local:4"};

syncopate::Training training_for(const World& world, Learner& learner) {
  return {.world = world,
          .learner = learner,
          .notes = kNotes,
          .unsaved_notes = 1,
          .samples = 16,
          .batch = 2};
}

void take_steps(const std::string& strategy, int rank, Strategy& made, VectorLearner& learner) {
  // One that does not wait leaves something on the board of the rank that comes late; and one whose
  // rounds wait for a rank that is drawn must not go before the others have theirs.
  const std::size_t steps = strategy.starts_with("eager-solo") ? 1 : 3;
  const bool by_rounds = strategy == "eager-majority";
  for (std::size_t step = 0; (by_rounds ? learner.told.size() : step) < steps; ++step) {
    made.note_losses(made.choose(2), Vector{1, 2});
    take_step(made, learner, [&](auto, std::span<float> gradient) {
      std::ranges::fill(gradient, float(rank + 1));
      std::ranges::fill(made.notes(), 1.0F);
    });
  }
}

/// What rank 1 of a training has, some steps in.
StrategyState saved_by(const std::string& strategy) {
  StrategyState saved;
  with_ranks(kRanks, [&](World& world) {
    VectorLearner learner(Vector{1, 2, 3});
    const auto made = make_strategy(strategy, training_for(world, learner));
    const bool alone = strategy.starts_with("eager-solo");  // One after the other.
    for (int turn = 0; turn < (alone ? kRanks : 1); ++turn) {
      if (!alone || turn == world.rank()) take_steps(strategy, world.rank(), *made, learner);
      world.barrier();
    }
    if (world.rank() == 1) saved = made->save();
    world.barrier();
  });
  return saved;
}

/// Rank 1 gets a strategy as it begins, which all ranks make together.
void with_fresh(const std::string& strategy, const std::function<void(Strategy&)>& act) {
  with_ranks(kRanks, [&](World& world) {
    VectorLearner learner(Vector{1, 2, 3});
    const auto made = make_strategy(strategy, training_for(world, learner));
    if (world.rank() == 1) act(*made);
    world.barrier();
  });
}

class StateOf : public ::testing::TestWithParam<const char*> {};

TEST_P(StateOf, AStrategyIsTakenBackWhole) {
  const StrategyState saved = saved_by(GetParam());
  EXPECT_FALSE(saved.entries.empty());
  StrategyState again;
  with_ranks(kRanks, [&](World& world) {
    VectorLearner learner(Vector{1, 2, 3});
    const auto made = make_strategy(GetParam(), training_for(world, learner));
    made->load(saved);
    if (world.rank() == 1) again = made->save();
    world.barrier();
  });
  // A sampler draws anew when it is loaded.
  if (auto periods = again.entries.find("periods"); periods != again.entries.end()) {
    std::get<double>(periods->second.value) -= 1;
  }
  for (const auto& [name, entry] : saved.entries) {
    EXPECT_TRUE(again.has(name) && again.entries.at(name) == entry) << name;
  }
  EXPECT_EQ(again.entries.size(), saved.entries.size());
}

TEST_P(StateOf, AStrategyIsTheSameOnEveryRankWhereItSaysSo) {
  constexpr int kThree = 3;
  constexpr std::uint64_t kUntil = 6;  // As a run saves: after the same agreed exchange.
  std::vector<StrategyState> saved(kThree);
  with_ranks(kThree, [&](World& world) {
    VectorLearner learner(Vector{1, 2, 3});
    std::uint64_t agreed = 0;
    learner.on_exchange = [&](const auto& told) {
      if (told.exchange.agreed) agreed = told.exchange.number;
    };
    const auto made = make_strategy(GetParam(), training_for(world, learner));
    for (int step = 0;; ++step) {
      if (agreed >= kUntil) break;  // As an exchange has told.
      dawdle(world.rank() * step % 5, unsigned(step));
      made->note_losses(made->choose(2), Vector{1, 2});
      take_step(
          *made, learner,
          [&](auto, std::span<float> gradient) {
            std::ranges::fill(gradient, float(world.rank() + 1));
          },
          std::chrono::milliseconds(1 + world.rank()));
    }
    world.barrier();
    saved[std::size_t(world.rank())] = made->save();
    world.barrier();
  });
  for (const StrategyState& other : saved) {
    StrategyState heir = saved[0];
    heir.inherit(other);  // Throws if anything of it is not the same.
    EXPECT_TRUE(heir.finite());
  }
}

TEST_P(StateOf, AStandInIsTaken) {
  StrategyState saved = saved_by(GetParam());
  saved.make_stand_in();
  with_fresh(GetParam(), [&](Strategy& made) { made.check(saved); });
}

TEST_P(StateOf, AStrategyLeavesOutVotes) {
  const StrategyState saved = saved_by(GetParam());
  if (saved.has("notes")) {
    EXPECT_EQ(saved.vector("notes").size(), kNotes - 1);
  }
  if (saved.has("carried")) {
    EXPECT_EQ(saved.vector("carried").size(), 3 + kNotes);
    EXPECT_EQ(saved.vector("carried").back(), 0);
    EXPECT_EQ(saved.vector("carried")[3], 1);
  }
}

TEST_P(StateOf, AnotherKindIsRefusedBeforeAnythingIsChanged) {
  const StrategyState saved = saved_by(GetParam());
  with_fresh(GetParam(), [&](Strategy& made) {
    const StrategyState before = made.save();
    const auto refused = [&](const std::string& name, const auto& change) {
      StrategyState wrong = saved;
      change(wrong.entries[name]);
      expect_refused(ErrorCode::invalid_argument, {"'" + name + "'"}, [&] { made.load(wrong); });
      EXPECT_EQ(made.save(), before) << name;
    };
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [name, entry] : saved.entries) {
      for (const Sharing sharing : {Sharing::same, Sharing::own, Sharing::pending}) {
        if (sharing == entry.sharing) continue;
        refused(name, [&](StateEntry& one) { one.sharing = sharing; });
      }
      if (const auto* vector = std::get_if<Vector>(&entry.value)) {
        refused(name, [](StateEntry& one) { one.value = 1.0; });
        refused(name, [](StateEntry& one) { one.value = Vector(); });
        refused(name, [&](StateEntry& one) { one.value = Vector(vector->size(), float(kNan)); });
        if (name == "steps") continue;  // By rank: of a world of any size.
        for (const std::size_t length : {vector->size() - 1, vector->size() + 1}) {
          refused(name, [&](StateEntry& one) { one.value = Vector(length, 1); });
        }
      } else {
        refused(name, [](StateEntry& one) { one.value = Vector{1}; });
        for (const double number : {-1.0, 1e300, kNan, HUGE_VAL, -HUGE_VAL}) {
          refused(name, [&](StateEntry& one) { one.value = number; });
        }
      }
    }
    refused("something else", [](StateEntry& one) { one = {Sharing::own, 1.0}; });
    made.check(saved);
  });
}

TEST_P(StateOf, AStateThatLacksAnEntryIsRefused) {
  const StrategyState saved = saved_by(GetParam());
  with_fresh(GetParam(), [&](Strategy& made) {
    for (const auto& [name, entry] : saved.entries) {
      if (name == "tau") continue;  // Not chosen yet.
      StrategyState wrong = saved;
      wrong.entries.erase(name);
      expect_refused(ErrorCode::invalid_argument, {"the strategy's state"},
                     [&] { made.load(wrong); });
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Every, StateOf, ::testing::ValuesIn(kStrategies), name_by_strategy);

TEST(State, IsTestedOfEveryStrategy) {
  for (const StrategyDescription& one : strategies()) {
    EXPECT_TRUE(std::ranges::any_of(kStrategies, [&](const std::string& text) {
      return text.substr(0, text.find(':')) == one.name;
    })) << one.name;
  }
}

TEST(State, WithMoreCarriedThanAnyRankLeavesIsRefused) {
  StrategyState saved = saved_by("eager-solo:grace=off");
  ASSERT_TRUE(saved.has("carried"));
  saved.entries["carried weight"].value = 1e12;
  with_fresh("eager-solo:grace=off", [&](Strategy& made) {
    expect_refused(ErrorCode::invalid_argument, {"'carried weight'", "1e+12"},
                   [&] { made.load(saved); });
  });
}

TEST(State, OfAnotherStageIsRefused) {
  StrategyState early = saved_by("post-local:9:3");
  early.entries["steps"].value = 9.0;
  with_fresh("post-local:9:3", [&](Strategy& made) {
    expect_refused(ErrorCode::invalid_argument, {"the strategy's state"},
                   [&] { made.load(early); });
  });
}

/// All that a strategy must do but one thing.
struct Silent : Strategy {
  void begin_step() override {}
  void end_step(Duration /*computing*/) override {}
  void stop() override {}
  bool follow() override { return false; }
  void finish() override {}
};

TEST(StrategyState, CannotBeForgotten) {
  EXPECT_TRUE(std::is_abstract_v<Silent>) << "it does not say what is pending";
}

}  // namespace
}  // namespace syncopate::testing
