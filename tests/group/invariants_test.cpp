// The invariants that the headers of src/group list: what a rank or a helper may not do is noticed,
// and what they do keeps them.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "board/own_board.h"
#include "group/board.h"

namespace syncopate::group {
namespace {

/// Two ranks of one machine, on memory of the test's own.
class GroupInvariants : public ::testing::Test {
 protected:
  static constexpr int kRanks = 2;

  GroupInvariants() {
    board::Seats::prepare(roster_memory_.get(), std::vector<int>{0, 1}, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<board::Roster>(roster_memory_.get(), rank, *platform_));
      rosters_.back()->seat().join({.pid = 100U + rank, .started = 7});
      boards_.push_back(
          std::make_unique<Board>(memory_.get(), shape_, *rosters_.back(), *platform_));
      boards_.back()->publications.publish(1, 0);
    }
  }
  Board& board(int rank) { return *boards_[rank]; }

  const std::vector<int> all_{0, 1};
  const LocalGroup first_{.step = 1, .group = 0, .members = all_};
  Shape shape_{.elements = 4, .ranks = kRanks, .world_ranks = kRanks, .groups = 1, .window = 4};
  board::Memory roster_memory_ = board::zeroed(board::Seats::bytes(kRanks));
  board::Memory memory_ = board::zeroed(shape_.bytes());
  std::unique_ptr<board::Platform> platform_ = board::make_thread_platform();
  std::vector<std::unique_ptr<board::Roster>> rosters_;
  std::vector<std::unique_ptr<Board>> boards_;
};

TEST_F(GroupInvariants, WhatWasSeenIsNotTakenBack) {
  board(0).window.release_through(3);
  EXPECT_DEATH(board(0).window.release_through(2), "window.h 1");
}

TEST_F(GroupInvariants, NoRoundStartsAheadOfTheWindow) {
  const LocalGroup far{.step = 5, .group = 0, .members = all_};
  EXPECT_FALSE(board(0).window.allows(far.step));
  EXPECT_DEATH(board(0).rounds.start(far), "window.h 2");
}

TEST_F(GroupInvariants, PublicationsOnlyGrow) {
  board(0).publications.publish(2, 2);
  EXPECT_DEATH(board(0).publications.publish(3, 1), "publications.h 1");
}

TEST_F(GroupInvariants, TheNewestPublicationIsNotWrittenOver) {
  EXPECT_DEATH(board(0).publications.publish(1, 1), "publications.h 2");
}

TEST_F(GroupInvariants, AConfirmedPublicationIsNotHandedOut) {
  const auto group_of = [](RoundNumber) { return 0; };
  const Publications& own = board(0).publications;
  board(1).publications.publish(2, 1);
  ASSERT_TRUE(board(1).rounds.start(first_));
  ASSERT_TRUE(board(1).rounds.choose(1, 0));
  board(0).publications.publish(0, 1);  // As of a rank that is late for the round.
  EXPECT_TRUE(own.is_confirmed(1, 0, group_of));
  EXPECT_EQ(own.free_slot(0, group_of), 2);
  EXPECT_EQ(board(1).rounds.help(first_), Rounds::Outcome::complete);
  EXPECT_FALSE(own.is_confirmed(1, 0, group_of)) << "the round is over";
  EXPECT_EQ(own.free_slot(0, group_of), 1);
}

TEST_F(GroupInvariants, ABufferInUseIsNotTakenAgain) {
  ASSERT_TRUE(board(0).rounds.start(first_));
  ASSERT_EQ(board(0).rounds.help(first_), Rounds::Outcome::complete);
  const int used = board(0).results.buffer_of(first_);
  const LocalGroup second{.step = 2, .group = 0, .members = all_};
  EXPECT_NE(board(1).results.reserve(second), used);
  board(0).window.release_through(1);
  EXPECT_NE(board(1).results.reserve(second), used) << "rank 1 has yet to read it";
  board(1).window.release_through(1);
  EXPECT_EQ(board(1).results.reserve(second), used);
}

TEST_F(GroupInvariants, AnAttemptNeverGoesBack) {
  ASSERT_TRUE(board(0).rounds.start(first_));
  EXPECT_FALSE(board(1).rounds.start(first_));
  EXPECT_DEATH(board(1).rounds.retry(first_, {.round = 2, .buffer = 3}), "rounds.h 1");
}

TEST_F(GroupInvariants, AFurtherAttemptHasAnotherBuffer) {
  ASSERT_TRUE(board(0).rounds.start(first_));
  const AttemptWord given_up = board(1).rounds.attempt(first_);
  board(1).rounds.retry(first_, given_up);
  const AttemptWord next = board(0).rounds.attempt(first_);
  EXPECT_EQ(next.round, given_up.round);
  EXPECT_NE(next.buffer, given_up.buffer);
}

}  // namespace
}  // namespace syncopate::group
