// Ranks and agents count the places of collectives on the board, each for itself. A rank that gave
// up waiting and went on to something else must not make them count differently.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "support/memory_fabric.h"
#include "support/ranks.h"
#include "support/refusal.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;

struct Case {
  const char* name;  ///< Where a rank gave up.
  std::vector<int> sizes;
  std::vector<int> impatient;  ///< Ranks that do not wait for the others.
};

class Relocations : public ::testing::TestWithParam<Case> {};

PartialAllreduce<float> make(World& world) {
  return {world, 1, PartialOptions{.trigger = all(), .scale = Scale::none}};
}

TEST_P(Relocations, AreTheSameForRanksAndAgentsAfterATimeout) {
  const std::vector<int>& sizes = GetParam().sizes;
  const std::vector<int>& impatient = GetParam().impatient;
  std::atomic<std::size_t> gave_up = 0;
  auto worlds = machines_of_threads(sizes, false, memory_fabrics(static_cast<int>(sizes.size())));
  on_threads(std::move(worlds), [&](World& world) {
    if (std::ranges::count(impatient, world.rank()) > 0) {
      world.set_timeout(100ms);
      expect_refused(ErrorCode::timeout, {}, [&] { make(world); });
      world.set_timeout(60s);
      ++gave_up;
      // The others meet what it left on the table, and then this.
      expect_refused(ErrorCode::mismatch, {"barrier"}, [&] { world.barrier(); });
      return;
    }
    while (gave_up < impatient.size()) std::this_thread::yield();
    expect_refused(ErrorCode::mismatch, {"barrier"}, [&] { make(world); });
    world.set_timeout(10s);
    auto rounds = make(world);
    const std::vector<float> one{1.0F};
    const auto patient = static_cast<float>(world.size()) - static_cast<float>(impatient.size());
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(rounds.exchange(one).front().sum()[0], patient);
    }
  });
}

std::string name(const ::testing::TestParamInfo<Case>& test) { return test.param.name; }
INSTANTIATE_TEST_SUITE_P(, Relocations,
                         ::testing::Values(Case{"OnTheFirstMachine", {1, 1, 1}, {0}},
                                           Case{"OnTheLastMachine", {1, 1, 1}, {2}},
                                           Case{"OnSeveral", {2, 1, 1}, {0, 3}},
                                           Case{"ButForOneRank", {2, 1}, {0, 2}}),
                         name);

}  // namespace
}  // namespace syncopate::testing
