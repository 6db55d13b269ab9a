// The interleaving explorer. Every schedule is checked for conservation, one result per round,
// order, staleness, receipts and liveness. A failing one prints its name; to see it step by
// step:   SYNCOPATE_SEED=<name> explorer_test
// SYNCOPATE_SCHEDULES sets how many random schedules are played.
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "explorer/last_words.h"
#include "explorer/play.h"
#include "explorer/schedule_name.h"
#include "explorer/schedulers.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRandomSchedules = 50'000;
constexpr int kFewer = 1;
#else
constexpr std::uint64_t kRandomSchedules = 1'000'000;
constexpr int kFewer = 0;
#endif
/// After so many failures of one kind more would only fill the screen.
constexpr int kMostFailures = 5;

/// A random schedule is all in its seed.
const std::string& play_random(Play& play, std::uint64_t seed, Plan& plan, bool trace) {
  Random random(seed);
  plan = Plan::draw(random);
  // Where the clock runs with every step, a rank of high priority that looks around now and
  // then leaves no time to the others.
  if (plan.tick == 0 && random.one_in(3)) {
    const int changes = random.between(1, 5);
    Priorities scheduler(random, plan.ranks, changes, 60 * plan.ranks * plan.deposits());
    return play.run(plan, scheduler, trace);
  }
  constexpr int kOneIn[] = {2, 4, 12, 40};
  RandomWalk scheduler(random, kOneIn[random.below(std::size(kOneIn))]);
  return play.run(plan, scheduler, trace);
}

/// Counts what was played and tells of what failed.
class Tally {
 public:
  void add(Play& play) {
    ++schedules_;
    steps_ += play.steps();
    rounds_ += play.rounds();
  }
  /// Returns whether to go on.
  bool fail(const std::string& failure, const std::string& name, const Plan& plan) {
    ADD_FAILURE() << failure << "\nSYNCOPATE_SEED=" << name << "\n" << plan.describe();
    return ++failures_ < kMostFailures;
  }
  void print(const char* of) const {
    std::printf("%s: %" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64 " rounds\n", of,
                schedules_, steps_, rounds_);
  }

 private:
  std::uint64_t schedules_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t rounds_ = 0;
  int failures_ = 0;
};

/// Plays all schedules that `scheduler` has for a world. Returns whether to go on.
bool play_all(Play& play, const SmallPlan& world, const std::vector<Machine::Fault>& faults,
              Systematic scheduler, Tally& tally) {
  Plan plan = world.plan;
  plan.faults = faults;
  do {
    const std::string& failure = play.run(plan, scheduler);
    tally.add(play);
    if (failure.empty()) continue;
    const ScheduleName name{
        .world = &world, .faults = faults, .deviations = scheduler.deviations()};
    if (!tally.fail(failure, name.text(), plan)) return false;
  } while (scheduler.next());
  return true;
}

/// How many steps the world takes when nobody is preempted.
std::uint64_t steps_of(Play& play, const SmallPlan& world) {
  Systematic scheduler(0);
  play.run(world.plan, scheduler);
  return play.steps();
}

class Explorer : public ::testing::Test {
 protected:
  /// With SYNCOPATE_SEED only that schedule is played, by one of the tests.
  void SetUp() override {
    if (std::getenv("SYNCOPATE_SEED") != nullptr) GTEST_SKIP() << "replaying SYNCOPATE_SEED";
  }

  /// Lets the fault happen to every rank of every small world before every step, and plays each
  /// of these in all orders with one deviation (with three ranks, in the first order).
  void strike_everywhere(Machine::Fault fault) {
    for (const SmallPlan& world : small_plans()) {
      const std::uint64_t steps = steps_of(play_, world);
      const int deviations = world.plan.ranks > 2 ? 0 : 1 - kFewer;
      for (fault.rank = 0; fault.rank < world.plan.ranks; ++fault.rank) {
        for (fault.step = 1; fault.step <= steps; ++fault.step) {
          const Systematic scheduler(deviations, Systematic::Order::counted);
          if (!play_all(play_, world, {fault}, scheduler, tally_)) return;
        }
      }
    }
    tally_.print("all together");
  }

  Play play_;
  Tally tally_;
};

TEST_F(Explorer, EveryScheduleWithFewPreemptionsKeepsEveryPromise) {
  for (const SmallPlan& world : small_plans()) {
    Tally tally;
    const bool go_on = play_all(play_, world, {}, Systematic(world.preemptions - kFewer), tally);
    tally.print(world.name.c_str());
    if (!go_on) return;
  }
}

TEST_F(Explorer, ADeathAtEveryStepBreaksNoPromise) {
  strike_everywhere({.kind = Machine::Fault::Kind::die});
}

TEST_F(Explorer, AStopAtEveryStepBreaksNoPromise) {
  constexpr Time kLongerThanPatience = 120'000'000;
  strike_everywhere({.kind = Machine::Fault::Kind::stop, .duration = kLongerThanPatience});
}

TEST_F(Explorer, RandomSchedulesKeepEveryPromise) {
  const char* count = std::getenv("SYNCOPATE_SCHEDULES");
  const std::uint64_t schedules =
      count != nullptr ? std::strtoull(count, nullptr, 10) : kRandomSchedules;
  Plan plan;
  LastWords last_words("SYNCOPATE_SEED=");
  for (std::uint64_t seed = 1; seed <= schedules; ++seed) {
    last_words.set(seed);
    const std::string& failure = play_random(play_, seed, plan, false);
    tally_.add(play_);
    if (!failure.empty() && !tally_.fail(failure, std::to_string(seed), plan)) break;
  }
  tally_.print("random");
}

TEST(ExplorerReplay, PlaysTheScheduleOfSeed) {
  const char* seed = std::getenv("SYNCOPATE_SEED");
  if (seed == nullptr) GTEST_SKIP() << "set SYNCOPATE_SEED to the name of a schedule";
  Play play;
  Plan plan;
  std::string failure;
  if (const std::optional<ScheduleName> name = ScheduleName::parse(seed)) {
    plan = name->world->plan;
    plan.faults = name->faults;
    Systematic scheduler(name->deviations);
    failure = play.run(plan, scheduler, true);
  } else {
    failure = play_random(play, std::strtoull(seed, nullptr, 10), plan, true);
  }
  std::printf("%s", plan.describe().c_str());
  EXPECT_EQ(failure, "");
}

}  // namespace
}  // namespace syncopate::testing
