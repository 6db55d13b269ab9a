// Group averages when a rank is killed or stopped at every step of the protocol, whether it
// starts the round, helps with it or comes too late: the others finish with the right means,
// name the dead, and wait for no rank that is stopped within the window.
#include <gtest/gtest.h>

#include <csignal>
#include <tuple>
#include <vector>

#include "fault/group_fault.h"
#include "support/crew.h"
#include "support/step_name.h"

namespace syncopate::testing {
namespace {

using board::Step;

const GroupWorld kWorlds[] = {
    {"first", 3, {.group_size = 3, .synchronize_every = 0, .window = 18}, true},
    {"all", 3, {.group_size = 3, .synchronize_every = 0, .trigger = all(), .window = 18}, false},
    {"pairs",
     4,
     {.group_size = 2, .synchronize_every = 3, .late = LateMerge::keep, .window = 18},
     false},
};

constexpr Step kSteps[] = {Step::read,   Step::write, Step::replace, Step::deposit, Step::start,
                           Step::decide, Step::claim, Step::reduce,  Step::done,    Step::publish,
                           Step::wake,   Step::park,  Step::release, Step::join,    Step::agree};

std::vector<int> occurrences(Step step, int signal) {
  switch (step) {
    case Step::join:
      return {1};
    case Step::agree:
      return {1, 2};  // The collective, and that all have published the initial weights.
    case Step::read:
    case Step::write:
    case Step::replace: {
      std::vector<int> numbers;
      const int thinning = signal == SIGKILL && kThrift == 1 ? 6 : 2;
      for (int n = 1; n < 400; n += 1 + n / thinning) {
        numbers.push_back(n);
      }
      return numbers;
    }
    default:
      return {1, 2, 3, 5};
  }
}

using Case = std::tuple<int, int, Step>;

class GroupEveryStep : public ::testing::TestWithParam<Case> {};

TEST_P(GroupEveryStep, TheOthersFinishWithTheRightMeans) {
  const auto [signal, index, step] = GetParam();
  const GroupWorld& world = kWorlds[index];
  int struck = 0;
  int number = 0;
  until_hit(struck, [&](Arrival arrival) {
    for (const int occurrence : occurrences(step, signal)) {
      const Blow blow{.step = step,
                      .occurrence = occurrence,
                      .signal = signal,
                      .arrival = arrival,
                      .victim = number++ % world.ranks};
      struck += survive(world, blow).struck ? 1 : 0;
      if (HasFailure()) return;
    }
  });
  if (world.nobody_waits && step == Step::park) return;  // No rank has to sleep.
  EXPECT_GT(struck, 0) << "no rank ever comes to this step: the case tests nothing";
}

/// A stopped helper holds a chunk; the rank that gives up on it is struck as well.
class GroupRetry : public ::testing::TestWithParam<Case> {};

TEST_P(GroupRetry, TheThirdFinishesWithTheRightMeans) {
  const auto [signal, index, step] = GetParam();
  int retried = 0;
  until_hit(retried, [&](Arrival arrival) {
    for (const int occurrence : {1, 3}) {
      const Struck result = survive(kWorlds[index], {.step = step,
                                                     .occurrence = occurrence,
                                                     .signal = SIGSTOP,
                                                     .arrival = arrival,
                                                     .at_retry = signal});
      retried += result.retried ? 1 : 0;
      if (HasFailure()) return;
    }
  });
  EXPECT_GT(retried, 0) << "no rank gave up on a chunk: the case tests nothing";
}

std::string name(const ::testing::TestParamInfo<Case>& test) {
  const auto [signal, index, step] = test.param;
  return std::string(signal == SIGKILL ? "Killed" : "Stopped") + "_" + kWorlds[index].name + "_" +
         to_string(step);
}

INSTANTIATE_TEST_SUITE_P(, GroupEveryStep,
                         ::testing::Combine(::testing::Values(SIGKILL, SIGSTOP),
                                            ::testing::Range(0, 3), ::testing::ValuesIn(kSteps)),
                         name);
INSTANTIATE_TEST_SUITE_P(, GroupRetry,
                         ::testing::Combine(::testing::Values(SIGKILL, SIGSTOP),
                                            ::testing::Values(0, 1),
                                            ::testing::Values(Step::reduce, Step::done)),
                         name);

}  // namespace
}  // namespace syncopate::testing
