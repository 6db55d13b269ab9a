// A rank that the others take for dead though it lives: it is told so by whatever it calls next or
// waits in, and does not go on beside them. They go on without it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/every_call.h"
#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"
#include "world/access.h"
#include "world/world_state.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

constexpr int kSuspect = 1;
constexpr const char* kWords[] = {"the others take rank 1 for dead", "End this process"};

struct Rank : RankWithAll {
  explicit Rank(World& joined)
      : RankWithAll(joined, {.group_size = 2, .trigger = all()}),
        long_rounds(joined, 5000, {.trigger = first()}) {}

  PartialAllreduce<float> long_rounds;
};

void expect_all_refused(Rank& rank) {
  const auto refused = [](const char* name, const std::function<void()>& call) {
    SCOPED_TRACE(name);
    expect_refused(ErrorCode::rank_lost, {kWords[0], kWords[1]}, call);
  };
  for (const Call& call : every_call()) {
    refused(call.name, [&] { call.make(rank); });
  }
  refused("exchange of a long vector",
          [&] { rank.long_rounds.exchange(std::vector<float>(5000)).pass(); });
  refused("broadcast of its own", [&] { rank.world.broadcast(std::span(rank.one), kSuspect); });
}

/// Ranks 0 and 1 share a board in both.
enum class Where { one_machine, two_machines };

void wait_until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("waited in vain");
    std::this_thread::yield();
  }
}

void wait_for(const std::atomic<int>& state, int value) {
  wait_until([&] { return state >= value; });
}

class FalseSuspicion : public ::testing::TestWithParam<Where> {
 protected:
  static std::vector<World> worlds() {
    std::vector<World> result = GetParam() == Where::one_machine
                                    ? World::threads(3)
                                    : machines_of_threads({2, 1}, false, memory_fabrics(2));
    for (World& world : result) world.set_timeout(20s);
    return result;
  }
  /// As if the kernel had said that its process is gone.
  static void suspect(World& world) {
    const auto& state = detail::WorldAccess::state(world);
    state->roster().seats().gone(kSuspect, state->platform());
  }
  /// All ranks call it: rank 0 suspects the other when that one has come, and then all go on.
  static void suspect_in_turn(World& world, std::atomic<int>& state) {
    if (world.rank() == kSuspect) state = 1;
    wait_for(state, 1);
    if (world.rank() == 0) {
      suspect(world);
      state = 2;
    }
    wait_for(state, 2);
  }
};

TEST_P(FalseSuspicion, IsToldByEveryCall) {
  std::atomic<int> state = 0;
  on_threads(worlds(), [&](World& world) {
    Rank rank(world);
    suspect_in_turn(world, state);
    if (world.rank() == kSuspect) {
      expect_all_refused(rank);
      state = 3;
      return;
    }
    wait_for(state, 3);
    // The others have lost nothing but that rank.
    EXPECT_EQ(rank.rounds.exchange(rank.one).front().sum()[0], 2.0F);
    wait_until([&] { return !world.dead().empty(); });  // Another machine hears of it later.
    EXPECT_EQ(world.dead().list(), std::vector<int>{kSuspect});
    world.barrier();
  });
}

TEST_P(FalseSuspicion, IsToldInAWaitThatHasBegun) {
  // Each waits for rank 0, which does not come.
  struct Wait {
    const char* name;
    std::function<void(Rank&)> make;
  };
  const std::vector<Wait> waits{
      {"exchange", [](Rank& rank) { rank.rounds.exchange(rank.one).pass(); }},
      {"wait", [](Rank& rank) { rank.long_rounds.wait().pass(); }},
      {"finish", [](Rank& rank) { rank.rounds.finish([](const Round<float>&) {}); }},
      {"average", [](Rank& rank) { rank.weights.average(); }},
      {"barrier", [](Rank& rank) { rank.world.barrier(); }},
      {"broadcast", [](Rank& rank) { rank.world.broadcast(std::span(rank.one), 0); }},
      {"a new collective", [](Rank& rank) { PartialAllreduce<float>(rank.world, 1); }},
  };
  for (const Wait& call : waits) {
    SCOPED_TRACE(call.name);
    std::atomic<int> state = 0;
    on_threads(worlds(), [&](World& world) {
      Rank rank(world);
      if (world.rank() == kSuspect) {
        state = 1;
        expect_refused(ErrorCode::rank_lost, {kWords[0], kWords[1]}, [&] { call.make(rank); });
        state = 2;
        return;
      }
      if (world.rank() == 0) {
        wait_for(state, 1);
        std::this_thread::sleep_for(5ms);  // It may or may not sleep by then: both are right.
        suspect(world);
      }
      wait_for(state, 2);
    });
  }
}

TEST_P(FalseSuspicion, IsToldBeforeItTrustsWhatItRead) {
  std::atomic<int> state = 0;
  on_threads(worlds(), [&](World& world) {
    Rank rank(world);
    const Rounds<float> done = rank.rounds.exchange(rank.one);
    auto round = done.begin();
    suspect_in_turn(world, state);
    if (world.rank() == kSuspect) {
      EXPECT_EQ(round->sum().size(), 1U);
      expect_refused(ErrorCode::rank_lost, {kWords[0]}, [&] { ++round; });
    } else {
      ++round;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, FalseSuspicion,
                         ::testing::Values(Where::one_machine, Where::two_machines),
                         [](const auto& test) {
                           return std::string(test.param == Where::one_machine ? "OnOneMachine"
                                                                               : "OnTwoMachines");
                         });

}  // namespace
}  // namespace syncopate::testing
