// No round is skipped, even where a step throws: what the caller has not passed is returned again,
// first and in order, by exchange(), wait() and finish().
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "support/crew.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

struct StepFailed : std::runtime_error {
  StepFailed() : std::runtime_error("the step failed") {}
};

using Numbers = std::vector<std::uint64_t>;

const std::vector<float> kOne{1.0F};

/// A rank with `rounds` rounds that it has not seen: it was away while another went on.
void with_missed_rounds(int missed, const std::function<void(PartialAllreduce<float>&)>& body) {
  on_threads(2, [&](World& world) {
    world.set_timeout(20s);
    PartialAllreduce<float> rounds(world, 1, {.trigger = first(), .scale = Scale::none});
    if (world.rank() == 0) {
      for (int i = 0; i < missed; ++i) rounds.exchange(kOne).pass();
      world.barrier();
      rounds.leave();
      return;
    }
    world.barrier();
    body(rounds);
  });
}

/// The numbers of the rounds that are passed up to the one at which the step throws.
Numbers numbers_until(std::uint64_t failing, const Rounds<float>& rounds) {
  Numbers seen;
  try {
    for (const auto& round : rounds) {
      EXPECT_EQ(round.sum()[0], 1.0F);
      if (round.number() == failing) throw StepFailed();
      seen.push_back(round.number());
    }
  } catch (const StepFailed&) {
  }
  return seen;
}

TEST(UnreadRounds, ComeAgainAfterAStepThatThrew) {
  with_missed_rounds(5, [](PartialAllreduce<float>& rounds) {
    EXPECT_EQ(numbers_until(2, rounds.wait()), (Numbers{1}));
    EXPECT_TRUE(rounds.ready());
    EXPECT_EQ(numbers_until(2, rounds.wait()), (Numbers{}));
    EXPECT_EQ(numbers_until(4, rounds.wait()), (Numbers{2, 3}));
    // A deposit does not pass them either, and no round starts before they are.
    EXPECT_EQ(numbers_until(5, rounds.exchange(kOne)), (Numbers{4}));
    EXPECT_EQ(numbers_until(0, rounds.exchange(kOne)), (Numbers{5}));
    const Rounds<float> next = rounds.wait();
    EXPECT_EQ(next.front().number(), 6U);
    EXPECT_EQ(next.front().sum()[0], 2.0F) << "both deposits are in it";
  });
}

TEST(UnreadRounds, ComeAgainAfterABreak) {
  with_missed_rounds(3, [](PartialAllreduce<float>& rounds) {
    for (const std::uint64_t expected : {1U, 1U}) {
      for (const auto& round : rounds.wait()) {
        EXPECT_EQ(round.number(), expected);
        break;
      }
    }
    const Rounds<float> all = rounds.wait();
    EXPECT_EQ(all.size(), 3U);
    Numbers seen;
    for (const auto& round : all) {
      seen.push_back(round.number());
      if (round.number() == 1) continue;
      // The same object goes on where its own iteration stood.
      for (const auto& rest : all) seen.push_back(rest.number());
      break;
    }
    EXPECT_EQ(seen, (Numbers{1, 2, 2, 3}));
  });
}

TEST(UnreadRounds, AreWhatNobodyLookedAt) {
  with_missed_rounds(3, [](PartialAllreduce<float>& rounds) {
    EXPECT_EQ(rounds.wait().size(), 3U);
    EXPECT_EQ(rounds.wait().size(), 3U);
    rounds.wait().pass();
    EXPECT_EQ(rounds.exchange(kOne).front().number(), 4U);
  });
}

TEST(UnreadRounds, AreNotThoseReadByFront) {
  with_missed_rounds(4, [](PartialAllreduce<float>& rounds) {
    EXPECT_EQ(rounds.wait().front().number(), 1U) << "passed when the object ends";
    const Rounds<float> kept = rounds.wait();
    EXPECT_EQ(kept.front().number(), 2U);
    const Rounds<float> later = rounds.wait();
    EXPECT_EQ(later.front().number(), 3U) << "passed with the next call, though the object lives";
    EXPECT_EQ(later.size(), 2U);
  });
}

TEST(UnreadRounds, AreThoseReadByFrontWhoseStepThrew) {
  with_missed_rounds(2, [](PartialAllreduce<float>& rounds) {
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_THROW(
          {
            const Rounds<float> done = rounds.wait();
            EXPECT_EQ(done.front().number(), 1U);
            throw StepFailed();
          },
          StepFailed);
      // Of a wrong accessor, too.
      expect_refused(ErrorCode::invalid_argument, {"mean()"},
                     [&] { static_cast<void>(rounds.wait().front().mean()); });
    }
    EXPECT_EQ(rounds.wait().front().number(), 1U);
    EXPECT_EQ(rounds.wait().front().number(), 2U);
  });
}

TEST(UnreadRounds, ComeAgainInFinish) {
  for (const int ranks : {1, 2, 3}) {
    on_threads(ranks, [&](World& world) {
      world.set_timeout(20s);
      PartialAllreduce<float> rounds(world, 1, {.trigger = first(), .scale = Scale::none});
      for (int i = 0; i <= world.rank(); ++i) rounds.start(kOne);
      double total = 0;
      std::uint64_t applied = 0;
      bool threw = false;
      const auto apply = [&](const Round<float>& round) {
        EXPECT_EQ(round.number(), applied + 1);
        threw = !threw;
        if (threw) throw StepFailed();
        applied = round.number();
        total += round.sum()[0];
      };
      bool over = false;
      while (!over) {
        try {
          rounds.finish(apply);
          over = true;
        } catch (const StepFailed&) {
          EXPECT_TRUE(threw);
        }
      }
      EXPECT_EQ(total, ranks * (ranks + 1) / 2);
      expect_refused(ErrorCode::closed, {"after finish()"}, [&] { rounds.finish(apply); });
    });
  }
}

TEST(UnreadRounds, HoldTheWindow) {
  on_threads(2, [](World& world) {
    PartialAllreduce<float> rounds(world, 1, {.trigger = first(), .window = 2});
    world.barrier();
    if (world.rank() == 1) {
      EXPECT_GE(rounds.exchange(kOne).size(), 1U) << "and nothing is passed";
      world.barrier();
      world.barrier();
      return;
    }
    world.barrier();
    world.set_timeout(100ms);
    bool held_up = false;
    for (int i = 0; i < 4 && !held_up; ++i) {
      try {
        rounds.exchange(kOne).pass();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::timeout);
        EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
        held_up = true;
      }
    }
    EXPECT_TRUE(held_up);
    world.set_timeout(20s);
    world.barrier();
  });
}

/// Ranks whose steps throw at random, in every way in which a caller can meet a round.
class FailingSteps : public ::testing::TestWithParam<std::tuple<Crew, int, const char*, int>> {};

/// A rank whose steps fail now and then, in any place, and which goes on.
class FailingRank {
 public:
  FailingRank(World& world, std::size_t elements, const Trigger& trigger)
      : elements_(elements),
        values_(elements, world.rank() + 1),
        rounds_(world, elements, {.trigger = trigger, .scale = Scale::none}),
        random_(static_cast<unsigned>(world.rank())) {}

  void step() {
    if (random_() % 3 == 0) {
      rounds_.start(values_);
      attempt([&] { use_some(rounds_.wait()); });
    } else {
      attempt([&] { use_some(rounds_.exchange(values_)); });
    }
  }
  void finish() {
    for (bool over = false; !over;) {
      attempt([&] {
        rounds_.finish([&](const Round<double>& round) { use(round); });
        over = true;
      });
    }
  }
  double total() const { return total_; }
  /// Depends on the order and the number of rounds.
  double sign() const { return sign_; }

 private:
  void use(const Round<double>& round) {
    ASSERT_EQ(round.number(), passed_ + 1);
    if (random_() % 4 == 0) throw StepFailed();
    passed_ = round.number();
    total_ += round.sum()[elements_ - 1];
    sign_ = -sign_ / 2 + round.sum()[0];
  }
  void use_some(const Rounds<double>& some) {
    switch (random_() % 4) {
      case 0:
        return use(some.front());
      case 1:
        for (const auto& round : some) {
          if (random_() % 2 == 0) break;
          use(round);
        }
        return;
      default:
        for (const auto& round : some) use(round);
    }
  }
  static void attempt(const std::function<void()>& step) {
    try {
      step();
    } catch (const StepFailed&) {
    }
  }

  std::size_t elements_;
  std::vector<double> values_;
  PartialAllreduce<double> rounds_;
  std::mt19937 random_;
  std::uint64_t passed_ = 0;
  double total_ = 0;
  double sign_ = 0;
};

TEST_P(FailingSteps, LeaveNoRankWithoutARound) {
  const auto& [crew, ranks, trigger, elements] = GetParam();
  constexpr int kSteps = 100 / kThrift;
  run(crew, ranks, [&, elements = elements, trigger = trigger](World& world) {
    world.set_timeout(60s);
    FailingRank rank(world, elements, Trigger::parse(trigger));
    for (int step = 0; step < kSteps; ++step) rank.step();
    rank.finish();
    EXPECT_EQ(rank.total(), kSteps * world.size() * (world.size() + 1) / 2.0);
    // Every replica holds the same model.
    Allreduce<double> signs(world, 1);
    EXPECT_EQ(signs.exchange(std::vector<double>{rank.sign()}).front().sum()[0],
              world.size() * rank.sign());
  });
}

std::string name(const ::testing::TestParamInfo<FailingSteps::ParamType>& test) {
  const auto& [crew, ranks, trigger, elements] = test.param;
  return std::string(crew == Crew::threads ? "Threads" : "OnMachines") + std::to_string(ranks) +
         "_" + trigger + "_" + std::to_string(elements);
}

INSTANTIATE_TEST_SUITE_P(, FailingSteps,
                         ::testing::Combine(::testing::Values(Crew::threads, Crew::machines),
                                            ::testing::Values(1, 2, 3),
                                            ::testing::Values("all", "first", "majority"),
                                            ::testing::Values(1, 3000)),
                         name);

}  // namespace
}  // namespace syncopate::testing
