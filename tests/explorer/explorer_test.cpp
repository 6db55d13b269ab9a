// The interleaving explorer. Every schedule is checked for conservation, one result per round,
// order, staleness, receipts and liveness. A failing one prints its name; to see it step by step:
//   SYNCOPATE_SEED=<name> explorer_test
// SYNCOPATE_SCHEDULES sets how many random schedules are played, one in five with a fresh seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "explorer/exploration.h"
#include "explorer/play.h"
#include "explorer/schedule_name.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRandomSchedules = 50'000;
constexpr int kFewer = 1;
#else
constexpr std::uint64_t kRandomSchedules = 1'000'000;
constexpr int kFewer = 0;
#endif
class Explorer : public Exploration<Play, Plan> {
 protected:
  /// Plays all schedules that `scheduler` has for a world. Returns whether to go on.
  bool play_all(const SmallPlan& world, const std::vector<Machine::Fault>& faults,
                Systematic scheduler) {
    Plan plan = world.plan;
    plan.faults = faults;
    const auto name = [&] {
      return ScheduleName{.world = &world, .faults = faults, .deviations = scheduler.deviations()}
          .text();
    };
    do {
      if (!note(play_.run(plan, scheduler), plan, name)) return false;
    } while (scheduler.next());
    return true;
  }

  /// How many steps the world takes when no rank is preempted.
  std::uint64_t steps_of(const SmallPlan& world) {
    Systematic scheduler(0);
    play_.run(world.plan, scheduler);
    return play_.steps();
  }

  /// Lets the fault happen to every rank of every small world before every step, and plays each
  /// of these in all orders with one deviation (with three ranks, in the first order).
  void strike_everywhere(Machine::Fault fault) {
    for (const SmallPlan& world : small_plans()) {
      const std::uint64_t steps = steps_of(world);
      const int deviations = world.plan.ranks > 2 ? 0 : 1 - kFewer;
      for (fault.rank = 0; fault.rank < world.plan.ranks; ++fault.rank) {
        for (fault.step = 1; fault.step <= steps; ++fault.step) {
          if (!play_all(world, {fault}, Systematic(deviations, Systematic::Order::counted))) return;
        }
      }
    }
  }
};

TEST_F(Explorer, EveryScheduleWithFewPreemptionsKeepsEveryPromise) {
  for (const SmallPlan& world : small_plans()) {
    if (!play_all(world, {}, Systematic(world.preemptions - kFewer))) return;
  }
}

TEST_F(Explorer, ADeathAtEveryStepBreaksNoPromise) {
  strike_everywhere({.kind = Machine::Fault::Kind::die});
}

TEST_F(Explorer, AStopAtEveryStepBreaksNoPromise) {
  constexpr Time kLongerThanPatience = 120'000'000;
  strike_everywhere({.kind = Machine::Fault::Kind::stop, .duration = kLongerThanPatience});
}

TEST_F(Explorer, RandomSchedulesKeepEveryPromise) { play_seeds(kRandomSchedules); }

/// Nothing if `text` is no name of a schedule.
std::optional<std::string> play_named(Play& play, Plan& plan, const char* text, bool trace) {
  const std::optional<ScheduleName> name = ScheduleName::parse(text);
  if (!name) return std::nullopt;
  plan = name->world->plan;
  plan.faults = name->faults;
  Systematic scheduler(name->deviations);
  return play.run(plan, scheduler, trace);
}

TEST_F(Explorer, SchedulesThatFailedOnceKeepEveryPromise) {
  play_kept("Explorer", [](Play& play, Plan& plan, const char* text) {
    return play_named(play, plan, text, false);
  });
}

TEST(ExplorerReplay, PlaysTheScheduleOfSeed) {
  replay<Play, Plan>(
      [](Play& play, Plan& plan, const char* text) { return play_named(play, plan, text, true); });
}

}  // namespace
}  // namespace syncopate::testing
