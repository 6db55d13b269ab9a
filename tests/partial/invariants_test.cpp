// Each invariant that a header of the protocol lists has a check that notices when it is broken.
// The tests break them by hand, on a board of their own.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "board/own_board.h"
#include "partial/board.h"

namespace syncopate::partial {
namespace {

using board::make_thread_platform;
using board::Roster;
using board::Seats;
using board::zeroed;

constexpr int kWindow = 2;

/// Three ranks of one machine, whose rounds the test runs.
class InvariantDeathTest : public ::testing::Test {
 protected:
  InvariantDeathTest() {
    Seats::prepare(seats_.get(), shape_.ranks);
    for (int rank = 0; rank < shape_.ranks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(seats_.get(), rank, *platform_));
      rosters_.back()->seat().join({.pid = 100U + rank, .started = 7});
      ranks_.push_back(
          std::make_unique<Board>(memory_.get(), shape_, *rosters_.back(), *platform_));
    }
  }

  Board& rank(int number) { return *ranks_[number]; }

  int deposit(int number) {
    Deposits& deposits = rank(number).deposits;
    const int slot = deposits.writable_slot();
    deposits.describe(slot, 1, rank(number).window.seen(), 0, Deposits::Form::values);
    deposits.put(slot);
    return slot;
  }
  /// By rank 0, for all.
  void run(RoundNumber round) {
    ASSERT_TRUE(rank(0).running.start(round, /*last=*/false));
    ASSERT_EQ(rank(0).running.help(), RunningRound::Outcome::complete);
  }
  void release(RoundNumber round) {
    for (const auto& one : ranks_) one->window.release_through(round);
  }

 private:
  const Shape shape_{.elements = 4, .ranks = 3, .world_ranks = 3, .window = kWindow};
  board::Memory seats_ = zeroed(Seats::bytes(shape_.ranks));
  board::Memory memory_ = zeroed(shape_.bytes());
  std::unique_ptr<board::Platform> platform_ = make_thread_platform();
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::vector<std::unique_ptr<Board>> ranks_;
};

TEST_F(InvariantDeathTest, ARankAlwaysFindsASlot) {
  // One is written, one deposited, one taken: the fourth is for their sum.
  for (RoundNumber round = 1; round <= 5; ++round) {
    for (int i = 0; i < 3; ++i) deposit(1);
    ASSERT_TRUE(rank(0).running.start(round, /*last=*/false));
    ASSERT_TRUE(rank(0).contributions.decide(round));
    for (int i = 0; i < 3; ++i) EXPECT_NE(deposit(1), kNoSlot);
    ASSERT_EQ(rank(0).running.help(), RunningRound::Outcome::complete);
    release(round);
  }
}

TEST_F(InvariantDeathTest, ATakenSlotIsNotWritten) {
  const int slot = deposit(1);
  ASSERT_TRUE(rank(0).running.start(1, /*last=*/false));
  ASSERT_TRUE(rank(0).contributions.decide(1));
  rank(1).deposits.describe(slot, 1, 0, 0, Deposits::Form::values);
  EXPECT_DEATH(rank(1).deposits.put(slot), "deposits\\.h 4");
}

TEST_F(InvariantDeathTest, WhatIsDepositedIsNotPutAgain) {
  const int slot = deposit(1);
  rank(1).deposits.describe(slot, 1, 0, 0, Deposits::Form::values);
  EXPECT_DEATH(rank(1).deposits.put(slot), "deposits\\.h 3");
}

TEST_F(InvariantDeathTest, NoDecisionIsSkipped) {
  EXPECT_DEATH(rank(0).contributions.decide(2), "contributions\\.h 1");
}

TEST_F(InvariantDeathTest, NothingIsListedBeforeItIsDecided) {
  EXPECT_DEATH(rank(0).contributions.collect(1, /*last=*/false), "contributions\\.h 2");
}

TEST_F(InvariantDeathTest, TheAttemptWordNeverGoesBack) {
  run(1);
  for (const RoundNumber round : {0, 1, 3}) {
    EXPECT_FALSE(rank(0).running.start(round, /*last=*/false)) << round;
  }
  EXPECT_EQ(rank(0).running.attempt().round, 1U);
}

TEST_F(InvariantDeathTest, NoRoundStartsBeyondTheWindow) {
  for (RoundNumber round = 1; round <= kWindow; ++round) run(round);
  EXPECT_DEATH(rank(0).running.start(kWindow + 1, /*last=*/false), "running_round\\.h 2");
}

TEST_F(InvariantDeathTest, ABufferInUseIsNotReused) {
  run(1);
  const Results& results = rank(1).results;
  const int buffer = results.buffer_of(1);
  EXPECT_FALSE(results.holds_nothing(buffer, results.published()));
  for (const int number : {0, 1}) rank(number).window.release_through(1);
  EXPECT_FALSE(results.holds_nothing(buffer, results.published())) << "rank 2 may read it";
  rank(2).window.release_through(1);
  EXPECT_TRUE(results.holds_nothing(buffer, results.published()));
}

TEST_F(InvariantDeathTest, NoPublicationIsSkipped) {
  EXPECT_DEATH(rank(0).results.publish({.round = 2, .buffer = 1}), "results\\.h 2");
}

TEST_F(InvariantDeathTest, NothingIsReleasedBeforeItIsThere) {
  run(1);
  EXPECT_DEATH(rank(1).window.release_through(2), "window\\.h 1");
  EXPECT_DEATH(rank(1).window.release_through_and_wait(2, 3), "window\\.h 1");
}

TEST_F(InvariantDeathTest, AParticipationOnlyMovesOn) {
  rank(1).participants.set_participation(Participation::left, 0);
  EXPECT_DEATH(rank(1).participants.set_participation(Participation::active, 0),
               "participants\\.h 2");
}

TEST_F(InvariantDeathTest, AWordHoldsNoMoreThanItsFields) {
  EXPECT_DEATH(static_cast<void>(DecideWord{.decided = 1, .taken = 16}.pack()), "words\\.h");
  EXPECT_DEATH(static_cast<void>(AttemptWord{.round = 1, .buffer = -1}.pack()), "words\\.h");
}

}  // namespace
}  // namespace syncopate::partial
