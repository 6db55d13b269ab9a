// Replicas that have applied the same rounds are equal, bit for bit, with any timing; and no
// gradient is lost or counted twice on the way from a rank to the optimizers of all.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "strategy/learner.h"
#include "strategy/names.h"
#include "strategy/play.h"
#include "support/crew.h"

namespace syncopate::testing {
namespace {

/// A number that differs if a single bit of the weights does; never zero.
std::uint64_t fingerprint(std::span<const float> weights) {
  std::uint64_t print = 14695981039346656037U;
  for (const float weight : weights) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &weight, sizeof bits);
    print = (print ^ bits) * 1099511628211U;
  }
  return print | 1;
}

const char* const kGradientStrategies[] = {
    "sync",           "eager-solo",          "eager-solo:anticipate=off:momentum-by-mass=off",
    "eager-majority", "eager-quorum:2",      "eager-quorum:2:grace=off:window=2",
    "m-sync:2",       "dropcompute:parts=2",
};

class Replicas : public ::testing::TestWithParam<int> {
 protected:
  int ranks() const { return GetParam(); }
};

TEST_P(Replicas, AreBitIdenticalAfterTheSameRounds) {
  const int steps = 1000 / kThrift;
  for (const char* strategy : kGradientStrategies) {
    SCOPED_TRACE(strategy);
    // By round: the first to come says what the weights are, the others compare.
    std::vector<std::atomic<std::uint64_t>> prints(std::size_t(steps) * ranks() + 2);
    std::vector<std::uint64_t> ends(ranks());
    with_ranks(ranks(), [&](World& world) {
      std::minstd_rand random(unsigned(world.rank() + 1));
      VectorLearner learner(Vector(17, 1.0F), {.rate = 0.05F, .momentum = 0.9F});
      learner.on_exchange = [&](const VectorLearner::Told& told) {
        const std::uint64_t mine = fingerprint(learner.weights());
        std::uint64_t known = 0;
        prints.at(told.exchange.number).compare_exchange_strong(known, mine);
        ASSERT_TRUE(known == 0 || known == mine) << "round " << told.exchange.number;
      };
      const auto made = make_strategy(strategy, {.world = world, .learner = learner});
      for (int step = 0; step < steps; ++step) {
        dawdle(int(random() % 4) * (world.rank() == 0 ? 4 : 1), unsigned(random()));
        take_step(*made, learner, [&](auto weights, std::span<float> gradient) {
          for (std::size_t i = 0; i < gradient.size(); ++i) {
            gradient[i] = weights[i] + float(random() % 1000) * 1e-3F;
          }
          made->enough(std::chrono::microseconds(random() % 100));
          made->enough(std::chrono::microseconds(100 + random() % 100));
        });
      }
      made->finish();
      ends[world.rank()] = fingerprint(learner.weights());
    });
    for (const std::uint64_t end : ends) EXPECT_EQ(end, ends[0]);
  }
}

/// What one rank has given and, like every other, applied. Whole numbers, so that sums are exact.
struct Account {
  long given = 0;
  long gradients_given = 0;
  long applied = 0;
  long gradients_applied = 0;
  long dropped = 0;
  double mass = 0;
};

Account train(World& world, const std::string& strategy, int steps) {
  const bool drops = strategy.starts_with("m-sync");
  std::minstd_rand random(unsigned(world.rank() + 1));
  Account account;
  long latest = 0;
  VectorLearner learner(Vector(2));
  Vector mean(2);
  learner.on_step = [&](std::span<const float> applied) { mean = to_vector(applied); };
  learner.on_exchange = [&](const VectorLearner::Told& told) {
    const Exchange& exchange = told.exchange;
    account.dropped += long(exchange.dropped);
    account.mass += exchange.mass;
    if (exchange.mass == 0) return;
    // What a mean was divided by makes it a whole number again.
    const int divisor = drops ? exchange.contributors : world.size();
    account.gradients_applied += std::lround(mean[0] * float(divisor));
    account.applied += std::lround(mean[1] * float(divisor));
    // What is dropped is not given. A rank whose work may be dropped has one gradient at a time.
    if (drops && exchange.included) account.given += latest;
  };
  const auto made = make_strategy(strategy, {.world = world, .learner = learner});
  for (int step = 0; step < steps; ++step) {
    dawdle(int(random() % 4) * (world.rank() == 0 ? 4 : 1), unsigned(random()));
    latest = long(random() % 1000);
    ++account.gradients_given;
    if (!drops) account.given += latest;
    take_step(*made, learner, [&](auto, std::span<float> gradient) {
      gradient[0] = 1;
      gradient[1] = float(latest);
    });
  }
  made->finish();
  return account;
}

TEST_P(Replicas, ApplyEveryGradientExactlyOnceOrReportIt) {
  for (const char* strategy : kGradientStrategies) {
    if (std::string(strategy).starts_with("dropcompute")) continue;
    SCOPED_TRACE(strategy);
    std::vector<Account> accounts(ranks());
    with_ranks(ranks(), [&](World& world) {
      accounts[world.rank()] = train(world, strategy, 300 / kThrift);
    });
    long given = 0, gradients = 0;
    for (const Account& account : accounts) {
      given += account.given;
      gradients += account.gradients_given;
    }
    for (const Account& account : accounts) {
      EXPECT_EQ(account.applied, given);
      EXPECT_EQ(account.gradients_applied + account.dropped, gradients);
      EXPECT_NEAR(account.mass * ranks(), double(account.gradients_applied), 1e-6);
      EXPECT_TRUE(account.dropped == 0 || std::string(strategy).starts_with("m-sync"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Replicas, ::testing::Values(2, 3, 4, 8), name_by_ranks);

}  // namespace
}  // namespace syncopate::testing
