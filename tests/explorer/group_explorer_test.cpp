// The interleaving explorer for group averages. Every schedule is checked for what is in each
// sum, for the new weights and receipts, for the window and for liveness. A failing one prints
// its name; to see it step by step:   SYNCOPATE_SEED=<name> group_explorer_test
// SYNCOPATE_SCHEDULES sets how many random schedules are played.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "explorer/group_play.h"
#include "explorer/last_words.h"
#include "explorer/schedulers.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRandomSchedules = 15'000;
constexpr int kSeedsPerFault = 1;
#else
constexpr std::uint64_t kRandomSchedules = 250'000;
constexpr int kSeedsPerFault = 4;
#endif
constexpr int kMostFailures = 5;

/// Plays a plan in an order that is all in `random`.
const std::string& play_in_some_order(GroupPlay& play, const GroupPlan& plan, Random& random,
                                      bool trace) {
  // Where the clock runs with every step, a rank of high priority leaves no time to the others.
  if (plan.tick == 0 && random.one_in(3)) {
    Priorities scheduler(random, plan.ranks, random.between(1, 5), 80 * plan.all_steps());
    return play.run(plan, scheduler, trace);
  }
  constexpr int kOneIn[] = {2, 4, 12, 40};
  RandomWalk scheduler(random, kOneIn[random.below(std::size(kOneIn))]);
  return play.run(plan, scheduler, trace);
}

const std::string& play_random(GroupPlay& play, std::uint64_t seed, GroupPlan& plan, bool trace) {
  Random random(seed);
  plan = GroupPlan::draw(random);
  return play_in_some_order(play, plan, random, trace);
}

/// A fault before a step of a small world: "world/die1@45/order".
struct Strike {
  int world = 0;
  Machine::Fault fault;
  int order = 0;

  std::string name() const {
    const bool deadly = fault.kind == Machine::Fault::Kind::die;
    return std::to_string(world) + (deadly ? "/die" : "/stop") + std::to_string(fault.rank) + "@" +
           std::to_string(fault.step) + "/" + std::to_string(order);
  }
  static bool parse(const char* text, Strike& strike) {
    char kind[8];
    unsigned long long step = 0;
    if (std::sscanf(text, "%d/%4[a-z]%d@%llu/%d", &strike.world, kind, &strike.fault.rank, &step,
                    &strike.order) != 5) {
      return false;
    }
    constexpr Time kLongerThanPatience = 120'000'000;
    const bool deadly = std::string(kind) == "die";
    strike.fault.kind = deadly ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop;
    strike.fault.duration = kLongerThanPatience;
    strike.fault.step = step;
    return true;
  }

  const std::string& play_it(GroupPlay& play, GroupPlan& plan, bool trace) const {
    plan = small_group_plans().at(world);
    plan.faults = {fault};
    Random random(order);
    return play_in_some_order(play, plan, random, trace);
  }
};

class GroupExplorer : public ::testing::Test {
 protected:
  /// With SYNCOPATE_SEED only that schedule is played, by one of the tests.
  void SetUp() override {
    if (std::getenv("SYNCOPATE_SEED") != nullptr) GTEST_SKIP() << "replaying SYNCOPATE_SEED";
  }
  void TearDown() override {
    std::printf("%" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64 " rounds, %" PRIu64
                " late merges\n",
                schedules_, steps_, play_.rounds(), play_.late());
  }
  /// Returns whether to go on.
  bool note(const std::string& failure, const std::string& name, const GroupPlan& plan) {
    ++schedules_;
    steps_ += play_.steps();
    if (failure.empty()) return true;
    ADD_FAILURE() << failure << "\nSYNCOPATE_SEED=" << name << "\n" << plan.describe();
    return ++failures_ < kMostFailures;
  }

  void strike_everywhere(Machine::Fault::Kind kind) {
    constexpr Time kLongerThanPatience = 120'000'000;
    Strike strike{.fault = {.kind = kind, .duration = kLongerThanPatience}};
    const std::vector<GroupPlan> worlds = small_group_plans();
    GroupPlan plan;
    for (strike.world = 0; strike.world < static_cast<int>(worlds.size()); ++strike.world) {
      Random random(1);
      play_in_some_order(play_, worlds[strike.world], random, false);
      const std::uint64_t steps = play_.steps();
      for (strike.fault.rank = 0; strike.fault.rank < worlds[strike.world].ranks;
           ++strike.fault.rank) {
        for (strike.fault.step = 1; strike.fault.step <= steps; ++strike.fault.step) {
          for (strike.order = 1; strike.order <= kSeedsPerFault; ++strike.order) {
            const std::string& failure = strike.play_it(play_, plan, false);
            if (!note(failure, failure.empty() ? "" : strike.name(), plan)) return;
          }
        }
      }
    }
  }

  GroupPlay play_;
  std::uint64_t schedules_ = 0;
  std::uint64_t steps_ = 0;
  int failures_ = 0;
};

TEST_F(GroupExplorer, RandomSchedulesKeepEveryPromise) {
  const char* count = std::getenv("SYNCOPATE_SCHEDULES");
  const std::uint64_t schedules =
      count != nullptr ? std::strtoull(count, nullptr, 10) : kRandomSchedules;
  GroupPlan plan;
  LastWords last_words("SYNCOPATE_SEED=");
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    last_words.set(seed);
    if (!note(play_random(play_, seed, plan, false), std::to_string(seed), plan)) break;
  }
}

TEST_F(GroupExplorer, ADeathAtEveryStepBreaksNoPromise) {
  strike_everywhere(Machine::Fault::Kind::die);
}

TEST_F(GroupExplorer, AStopAtEveryStepBreaksNoPromise) {
  strike_everywhere(Machine::Fault::Kind::stop);
}

TEST(GroupExplorerReplay, PlaysTheScheduleOfSeed) {
  const char* seed = std::getenv("SYNCOPATE_SEED");
  if (seed == nullptr) GTEST_SKIP() << "set SYNCOPATE_SEED to the name of a schedule";
  GroupPlay play;
  GroupPlan plan;
  Strike strike;
  const std::string failure = Strike::parse(seed, strike)
                                  ? strike.play_it(play, plan, true)
                                  : play_random(play, std::strtoull(seed, nullptr, 10), plan, true);
  std::printf("%s", plan.describe().c_str());
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace syncopate::testing
