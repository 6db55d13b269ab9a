// Promise 1: with carry, every deposit is in exactly one round; with drop, it is in one or it is
// counted as dropped.
#include "support/promise.h"

namespace syncopate::testing {
namespace {

class Conservation : public Promise {};

TEST_P(Conservation, EveryDepositIsInExactlyOneRound) {
  Training training;
  training.options.trigger = trigger();
  training.elements = 2 * ranks() + 5;
  // Rounds across machines take their time.
  training.steps = (on_several_boards(crew_of_this_program()) ? 500 : 1500) / thrift();
  training.away = 3;
  training.seed = ranks();
  train(training);
}

TEST_P(Conservation, WeightedDepositsCountWithTheirWeight) {
  Training training;
  training.options.trigger = trigger();
  training.elements = ranks() + 1;
  training.steps = 100 / thrift();
  training.weighted = true;
  train(training);
}

TEST_P(Conservation, WhatARankLeavesBehindIsTakenByTheOthers) {
  Training training;
  training.options.trigger = trigger();
  training.elements = ranks() + 1;
  training.steps = 100 / thrift();
  training.leaver = ranks() / 2;
  train(training);
}

TEST_P(Conservation, GraceChangesWhenARoundStartsAndNothingElse) {
  for (const char* grace : {"20us", "auto"}) {
    SCOPED_TRACE(grace);
    Training training;
    training.options.trigger = trigger();
    training.options.grace = Grace::parse(grace);
    training.elements = ranks() + 1;
    training.steps = 100 / thrift();
    train(training);
  }
}

TEST_P(Conservation, ADroppedDepositIsInNoRoundAndTheOthersAreInOne) {
  for (const std::uint64_t age : {1, 2, 3}) {
    SCOPED_TRACE(age);
    Training training;
    training.options.trigger = trigger();
    training.options.late = drop_older_than(age);
    training.elements = ranks() + 1;
    training.steps = 100 / thrift();
    training.straggler = ranks() - 1;
    training.away = 3;
    train(training);
  }
}

INSTANTIATE_TEST_SUITE_P(, Conservation, promise_grid(), Promise::kName);

}  // namespace
}  // namespace syncopate::testing
