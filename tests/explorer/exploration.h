// What the explorers of partial allreduces and of group averages share: random schedules that are
// all in their seed, a tally of what was played, and the replay of one schedule by its name. Beside
// fixed seeds each run plays fresh ones, and those that failed once.
#pragma once

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>

#include "explorer/last_words.h"
#include "explorer/random.h"
#include "explorer/schedulers.h"
#include "explorer/seeds.h"

namespace syncopate::testing {

/// Plays a plan in an order that is all in `random`.
template <typename Play, typename Plan>
const std::string& play_in_some_order(Play& play, const Plan& plan, Random& random, bool trace) {
  // Where the clock runs with every step, a rank of high priority that looks around now and
  // then leaves no time to the others.
  if (plan.tick == 0 && random.one_in(3)) {
    const int changes = random.between(1, 5);
    Priorities scheduler(random, plan.ranks, changes, plan.typical_steps());
    return play.run(plan, scheduler, trace);
  }
  constexpr int kOneIn[] = {2, 4, 12, 40};
  RandomWalk scheduler(random, kOneIn[random.below(std::size(kOneIn))]);
  return play.run(plan, scheduler, trace);
}

template <typename Play, typename Plan>
const std::string& play_random(Play& play, std::uint64_t seed, Plan& plan, bool trace) {
  Random random(seed);
  plan = Plan::draw(random);
  return play_in_some_order(play, plan, random, trace);
}

template <typename Play, typename Plan>
class Exploration : public ::testing::Test {
 protected:
  /// With SYNCOPATE_SEED only that schedule is played, by one of the tests.
  void SetUp() override {
    if (std::getenv("SYNCOPATE_SEED") != nullptr) GTEST_SKIP() << "replaying SYNCOPATE_SEED";
  }
  void TearDown() override {
    std::printf("%" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64 " rounds\n", schedules_,
                steps_, rounds_);
  }

  /// Counts what was played and tells of what failed. Returns whether to go on.
  template <typename Name>
  bool note(const std::string& failure, const Plan& plan, const Name& name) {
    ++schedules_;
    steps_ += play_.steps();
    rounds_ += play_.rounds();
    if (failure.empty()) return true;
    ADD_FAILURE() << failure << "\nSYNCOPATE_SEED=" << name() << "\n" << plan.describe();
    return ++failures_ < kMostFailures;
  }

  /// So many: most with the seeds 1, 2, 3 …, the others with seeds that no run has had before.
  void play_seeds(std::uint64_t schedules) {
    if (const char* count = std::getenv("SYNCOPATE_SCHEDULES"); count != nullptr) {
      schedules = std::strtoull(count, nullptr, 10);
    }
    const std::uint64_t fresh = fresh_share(schedules);
    if (!play_seeds(1, schedules - fresh, false)) return;
    play_seeds(first_fresh_seed(), fresh, true);
  }

  /// What failed once must not fail again: by `play_named`, as in replay().
  template <typename PlayNamed>
  void play_kept(const std::string& explorer, const PlayNamed& play_named) {
    for (const std::string& name : kept_seeds(explorer)) {
      Plan plan;
      std::optional<std::string> failure = play_named(play_, plan, name.c_str());
      if (!failure)
        failure = play_random(play_, std::strtoull(name.c_str(), nullptr, 10), plan, false);
      if (!note(*failure, plan, [&] { return name; })) return;
    }
  }

  Play play_;

 private:
  /// After so many failures of one kind more would only fill the screen.
  static constexpr int kMostFailures = 5;

  /// Returns whether to go on.
  bool play_seeds(std::uint64_t first, std::uint64_t count, bool fresh) {
    Plan plan;
    LastWords last_words("SYNCOPATE_SEED=");
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      last_words.set(seed);
      const std::string& failure = play_random(play_, seed, plan, false);
      if (fresh && !failure.empty()) {
        keep_seed(::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                  std::to_string(seed));
      }
      if (!note(failure, plan, [&] { return std::to_string(seed); })) return false;
    }
    return true;
  }

  std::uint64_t schedules_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t rounds_ = 0;
  int failures_ = 0;
};

/// Plays the schedule that SYNCOPATE_SEED names, step by step: by `play_named(play, plan, name)`,
/// or by its seed if that returns nothing.
template <typename Play, typename Plan, typename PlayNamed>
void replay(const PlayNamed& play_named) {
  const char* seed = std::getenv("SYNCOPATE_SEED");
  if (seed == nullptr) GTEST_SKIP() << "set SYNCOPATE_SEED to the name of a schedule";
  Play play;
  Plan plan;
  std::optional<std::string> failure = play_named(play, plan, seed);
  if (!failure) failure = play_random(play, std::strtoull(seed, nullptr, 10), plan, true);
  std::printf("%s", plan.describe().c_str());
  EXPECT_EQ(*failure, "");
}

}  // namespace syncopate::testing
