// The interleaving explorer. Every schedule is checked for conservation, one result per round,
// order, staleness, receipts and liveness. A failing one prints its name; to see it step by
// step:   SYNCOPATE_SEED=<name> explorer_test
// SYNCOPATE_SCHEDULES sets how many random schedules are played.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "explorer/play.h"
#include "explorer/schedulers.h"

namespace syncopate::testing {
namespace {

#ifndef SYNCOPATE_SCHEDULES
#define SYNCOPATE_SCHEDULES 1000000
#endif

struct Schedule {
  Plan plan;
  std::unique_ptr<Machine::Scheduler> scheduler;
};

/// A random schedule is all in its seed.
const std::string& play_random(Play& play, std::uint64_t seed, Plan& plan, bool trace) {
  Random random(seed);
  plan = Plan::draw(random);
  // Where the clock runs with every step, a rank of high priority that looks around now and
  // then leaves no time to the others.
  if (plan.tick == 0 && random.one_in(3)) {
    Priorities scheduler(random, plan.ranks, random.between(1, 5),
                         60 * plan.ranks * plan.deposits());
    return play.run(plan, scheduler, trace);
  }
  constexpr int kOneIn[] = {2, 4, 12, 40};
  RandomWalk scheduler(random, kOneIn[random.below(std::size(kOneIn))]);
  return play.run(plan, scheduler, trace);
}

TEST(Explorer, RandomSchedulesKeepEveryPromise) {
  Play play;
  Plan plan;
  if (const char* seed = std::getenv("SYNCOPATE_SEED"); seed != nullptr) {
    const std::uint64_t number = std::strtoull(seed, nullptr, 10);
    const std::string failure = play_random(play, number, plan, true);
    std::printf("%s", plan.describe().c_str());
    EXPECT_EQ(failure, "");
    return;
  }
  const char* count = std::getenv("SYNCOPATE_SCHEDULES");
  const std::uint64_t schedules =
      count != nullptr ? std::strtoull(count, nullptr, 10) : SYNCOPATE_SCHEDULES;
  std::uint64_t steps = 0, rounds = 0;
  int failures = 0;
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    const std::string& failure = play_random(play, seed, plan, false);
    steps += play.steps();
    rounds += play.rounds();
    if (failure.empty()) continue;
    ADD_FAILURE() << failure << "\nSYNCOPATE_SEED=" << seed << "\n" << plan.describe();
    if (++failures == 10) break;
  }
  std::printf("%llu schedules, %llu steps, %llu rounds, %llu attempts\n",
              (unsigned long long)schedules, (unsigned long long)steps, (unsigned long long)rounds,
              (unsigned long long)play.attempts());
}

}  // namespace
}  // namespace syncopate::testing
