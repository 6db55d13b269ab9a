// Promise 9: no rank waits for the dead, and a stopped rank is a straggler. SIGKILL and SIGSTOP
// at every step of the protocol, for every role that takes it, at early and later occurrences.
#include <gtest/gtest.h>

#include <csignal>
#include <tuple>
#include <vector>

#include "fault/fault.h"
#include "support/crew.h"
#include "support/step_name.h"

namespace syncopate::testing {
namespace {

using board::Step;

constexpr Step kSteps[] = {
    Step::read,   Step::write, Step::replace, Step::deposit, Step::merge,   Step::start,
    Step::decide, Step::claim, Step::reduce,  Step::done,    Step::publish, Step::advance,
    Step::wake,   Step::park,  Step::release, Step::join,    Step::agree};

std::vector<int> occurrences(Step step, int signal) {
  switch (step) {
    case Step::join:
    case Step::agree:
      return {1};
    case Step::read:
    case Step::write:
    case Step::replace: {
      // Every access to shared memory is one of these. Kills are quick: go through the first
      // round access by access, then ever more thinly.
      std::vector<int> numbers;
      const int thinning = signal == SIGKILL && kThrift == 1 ? 30 : 3;
      for (int n = 1; n < 300; n += 1 + n / thinning) {
        numbers.push_back(n);
      }
      return numbers;
    }
    default:
      return {1, 2, 3, 4, 5, 7};
  }
}

using Case = std::tuple<int, const char*, Step>;

/// Strikes at every occurrence of a step, with ranks and elements as in `strike`.
void strike_at_every(Strike strike) {
  int struck = 0;
  int number = 0;
  until_hit(struck, [&](Arrival arrival) {
    for (const int occurrence : occurrences(strike.blow.step, strike.blow.signal)) {
      strike.blow.occurrence = occurrence;
      strike.blow.arrival = arrival;
      strike.blow.victim = number % strike.ranks;
      strike.told = number % 2 == 1;
      ++number;
      struck += survive(strike).struck ? 1 : 0;
      if (::testing::Test::HasFailure()) return;
    }
  });
  EXPECT_GT(struck, 0) << "no rank ever comes to this step: the case tests nothing";
}

class EveryStep : public ::testing::TestWithParam<Case> {};

TEST_P(EveryStep, TheOthersFinishWithTheRightSums) {
  const auto [signal, trigger, step] = GetParam();
  strike_at_every({.blow = {.step = step, .signal = signal},
                   .trigger = Trigger::parse(trigger),
                   .twice = step == Step::merge});
}

/// Two ranks that settle their rounds; once one is struck, the other goes on alone.
class OfTwo : public ::testing::TestWithParam<Case> {};

TEST_P(OfTwo, TheOtherFinishesWithTheRightSums) {
  const auto [signal, trigger, step] = GetParam();
  strike_at_every({.blow = {.step = step, .signal = signal},
                   .trigger = Trigger::parse(trigger),
                   .ranks = 2,
                   .elements = 2});
}

TEST_P(EveryStep, InFinish) {
  const auto [signal, trigger, step] = GetParam();
  for (const int occurrence : {1, 3}) {
    survive({.blow = {.step = step,
                      .occurrence = occurrence,
                      .signal = signal,
                      .arrival = Arrival::late},
             .trigger = Trigger::parse(trigger),
             .finishing = true});
  }
}

/// A stopped helper holds a chunk; the rank that gives up on it is struck as well.
class Retry : public ::testing::TestWithParam<Case> {};

TEST_P(Retry, TheThirdFinishesWithTheRightSums) {
  const auto [signal, trigger, step] = GetParam();
  int retried = 0;
  until_hit(retried, [&](Arrival arrival) {
    for (const int occurrence : {1, 2, 5}) {
      const Struck result = survive({.blow = {.step = step,
                                              .occurrence = occurrence,
                                              .signal = SIGSTOP,
                                              .arrival = arrival,
                                              .at_retry = signal},
                                     .trigger = Trigger::parse(trigger)});
      retried += result.retried ? 1 : 0;
      if (HasFailure()) return;
    }
  });
  EXPECT_GT(retried, 0) << "no rank gave up on a chunk: the case tests nothing";
}

std::string name(const ::testing::TestParamInfo<Case>& test) {
  const auto [signal, trigger, step] = test.param;
  return std::string(signal == SIGKILL ? "Killed" : "Stopped") + "_" + trigger + "_" +
         to_string(step);
}

INSTANTIATE_TEST_SUITE_P(, EveryStep,
                         ::testing::Combine(::testing::Values(SIGKILL, SIGSTOP),
                                            ::testing::Values("all", "first", "majority"),
                                            ::testing::ValuesIn(kSteps)),
                         name);

INSTANTIATE_TEST_SUITE_P(
    , OfTwo,
    ::testing::Combine(::testing::Values(SIGKILL, SIGSTOP), ::testing::Values("all"),
                       ::testing::Values(Step::read, Step::write, Step::replace, Step::deposit,
                                         Step::reduce, Step::wake, Step::park, Step::release)),
    name);

INSTANTIATE_TEST_SUITE_P(, Retry,
                         ::testing::Combine(::testing::Values(SIGKILL, SIGSTOP),
                                            ::testing::Values("all", "first", "majority"),
                                            ::testing::Values(Step::reduce, Step::done)),
                         name);

}  // namespace
}  // namespace syncopate::testing
