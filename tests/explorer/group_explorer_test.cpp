// The interleaving explorer for group averages. Every schedule is checked for what is in each
// sum, for the new weights and receipts, for the window and for liveness. A failing one prints
// its name; to see it step by step:   SYNCOPATE_SEED=<name> group_explorer_test
// SYNCOPATE_SCHEDULES sets how many random schedules are played, one in five with a fresh seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "explorer/exploration.h"
#include "explorer/group_play.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kRandomSchedules = 15'000;
constexpr int kSeedsPerFault = 1;
#else
constexpr std::uint64_t kRandomSchedules = 250'000;
constexpr int kSeedsPerFault = 4;
#endif
constexpr Time kLongerThanPatience = 120'000'000;

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
  static std::optional<Strike> parse(const char* text) {
    Strike strike{.fault = {.duration = kLongerThanPatience}};
    char kind[8];
    unsigned long long step = 0;
    if (std::sscanf(text, "%d/%4[a-z]%d@%llu/%d", &strike.world, kind, &strike.fault.rank, &step,
                    &strike.order) != 5) {
      return std::nullopt;
    }
    const bool deadly = std::string(kind) == "die";
    strike.fault.kind = deadly ? Machine::Fault::Kind::die : Machine::Fault::Kind::stop;
    strike.fault.step = step;
    return strike;
  }

  const std::string& play_it(GroupPlay& play, GroupPlan& plan, bool trace) const {
    plan = small_group_plans().at(world);
    plan.faults = {fault};
    Random random(order);
    return play_in_some_order(play, plan, random, trace);
  }
};

class GroupExplorer : public Exploration<GroupPlay, GroupPlan> {
 protected:
  void TearDown() override {
    Exploration::TearDown();
    std::printf("%llu late merges\n", static_cast<unsigned long long>(play_.late()));
  }

  void strike_everywhere(Machine::Fault::Kind kind) {
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
            if (!note(failure, plan, [&] { return strike.name(); })) return;
          }
        }
      }
    }
  }
};

TEST_F(GroupExplorer, RandomSchedulesKeepEveryPromise) { play_seeds(kRandomSchedules); }

TEST_F(GroupExplorer, ADeathAtEveryStepBreaksNoPromise) {
  strike_everywhere(Machine::Fault::Kind::die);
}

TEST_F(GroupExplorer, AStopAtEveryStepBreaksNoPromise) {
  strike_everywhere(Machine::Fault::Kind::stop);
}

/// Nothing if `text` is no name of a strike.
std::optional<std::string> play_named(GroupPlay& play, GroupPlan& plan, const char* text,
                                      bool trace) {
  const std::optional<Strike> strike = Strike::parse(text);
  if (!strike) return std::nullopt;
  return strike->play_it(play, plan, trace);
}

TEST_F(GroupExplorer, SchedulesThatFailedOnceKeepEveryPromise) {
  play_kept("GroupExplorer", [](GroupPlay& play, GroupPlan& plan, const char* text) {
    return play_named(play, plan, text, false);
  });
}

TEST(GroupExplorerReplay, PlaysTheScheduleOfSeed) {
  replay<GroupPlay, GroupPlan>([](GroupPlay& play, GroupPlan& plan, const char* text) {
    return play_named(play, plan, text, true);
  });
}

}  // namespace
}  // namespace syncopate::testing
