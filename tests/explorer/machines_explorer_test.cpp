// The agreements between machines under random schedules. A failing one prints its seed; to play it
// alone:   SYNCOPATE_SEED=<seed> machines_explorer_test --gtest_filter=<test>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "explorer/group_machines_play.h"
#include "explorer/machines_play.h"
#include "explorer/seeds.h"

namespace syncopate::testing {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr int kThrift = 10;
#else
constexpr int kThrift = 1;
#endif

struct Size {
  int machines;
  int ranks_each;
  int plays;
};

template <typename Plan, typename Play>
std::string failure_of(std::uint64_t seed, const Size& size) {
  const Plan plan = Plan::random(seed, size.machines, size.ranks_each);
  Play play(plan, seed);
  const std::string failure = play.run();
  if (failure.empty()) return failure;
  return failure + "\nSYNCOPATE_SEED=" + std::to_string(seed) + "\n" + plan.text();
}

/// The seeds that failed once in this test, the fixed ones, and fresh ones.
template <typename Plan, typename Play>
void explore(const Size& size) {
  const auto play = failure_of<Plan, Play>;
  if (const char* chosen = std::getenv("SYNCOPATE_SEED"); chosen != nullptr) {
    ASSERT_EQ(play(std::strtoull(chosen, nullptr, 10), size), "");
    return;
  }
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const std::string& kept : kept_seeds(test)) {
    ASSERT_EQ(play(std::strtoull(kept.c_str(), nullptr, 10), size), "");
  }
  const std::uint64_t plays = size.plays / kThrift;
  const std::uint64_t fresh = fresh_share(plays);
  for (std::uint64_t seed = 1; seed <= plays - fresh; ++seed) ASSERT_EQ(play(seed, size), "");
  const std::uint64_t first = first_fresh_seed();
  for (std::uint64_t seed = first; seed < first + fresh; ++seed) {
    const std::string failure = play(seed, size);
    if (!failure.empty()) keep_seed(test, std::to_string(seed));
    ASSERT_EQ(failure, "");
  }
}

constexpr auto explore_rounds = explore<MachinesPlan, MachinesPlay>;
constexpr auto explore_groups = explore<GroupMachinesPlan, GroupMachinesPlay>;

TEST(MachinesExplorer, FewMachines) {
  explore_rounds({.machines = 4, .ranks_each = 3, .plays = 150'000});
}
TEST(MachinesExplorer, MachinesOfOneRank) {
  explore_rounds({.machines = 9, .ranks_each = 1, .plays = 50'000});
}
TEST(MachinesExplorer, ManyMachines) {
  explore_rounds({.machines = 64, .ranks_each = 8, .plays = 100});
}

TEST(MachinesExplorer, GroupsOnFewMachines) {
  explore_groups({.machines = 4, .ranks_each = 3, .plays = 30'000});
}
TEST(MachinesExplorer, GroupsOnMachinesOfOneRank) {
  explore_groups({.machines = 9, .ranks_each = 1, .plays = 8'000});
}
TEST(MachinesExplorer, GroupsOnManyMachines) {
  explore_groups({.machines = 64, .ranks_each = 8, .plays = 20});
}

/// What a round costs where nothing has to be found out.
TEST(MachinesExplorer, OneInitiatorReachesEverybodyInTheFewestMessages) {
  for (int machines = 1; machines <= 64; ++machines) {
    for (int initiator = 0; initiator < machines; initiator += 7) {
      std::vector<int> machine_of(machines);
      for (int machine = 0; machine < machines; ++machine) machine_of[machine] = machine;
      std::vector<round::Agreement> agreements;
      for (int machine = 0; machine < machines; ++machine) {
        agreements.emplace_back(first(), 8, machine_of, machine);
      }
      round::Facts facts{.here = RankSet(1), .counting = RankSet(1), .waits = true, .seen = 0};
      facts.here.insert(0);
      facts.counting.insert(0);
      agreements[initiator].observe(facts, Duration(0), 0);
      // Hop by hop, so that the longest way shows.
      int hops = 0;
      int messages = 0;
      auto flying = agreements[initiator].take_messages();
      while (!flying.empty()) {
        ++hops;
        std::vector<round::Agreement::Outgoing> next;
        for (const auto& [to, message] : flying) {
          ++messages;
          EXPECT_FALSE(agreements[to].started()) << "told twice";
          agreements[to].hear(0, message, 0);
          for (auto& more : agreements[to].take_messages()) next.push_back(std::move(more));
        }
        flying = std::move(next);
      }
      EXPECT_EQ(messages, machines - 1);
      EXPECT_LE(hops, std::bit_width(static_cast<unsigned>(machines - 1)));
      for (const round::Agreement& one : agreements) {
        EXPECT_TRUE(one.started());
        EXPECT_EQ(one.started_by(), initiator);
      }
    }
  }
}

TEST(MachinesExplorer, TheTriggerAllNeedsNoMessages) {
  std::vector<round::Agreement> agreements;
  for (int machine = 0; machine < 4; ++machine) {
    agreements.emplace_back(all(), 8, std::vector<int>{0, 1, 2, 3}, machine);
  }
  round::Facts facts{.here = RankSet(1), .counting = RankSet(1), .waits = true, .seen = 0};
  facts.here.insert(0);
  facts.counting.insert(0);
  for (round::Agreement& one : agreements) {
    one.observe(facts, Duration(0), 0);
    EXPECT_TRUE(one.started());
    EXPECT_TRUE(one.take_messages().empty());
  }
}

}  // namespace
}  // namespace syncopate::testing
