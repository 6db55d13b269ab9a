// The board of a group average with an agent and ranks that use it at once.
#include "group/machine_board.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "board/own_board.h"

namespace syncopate::board {
namespace {

/// Three ranks of this machine in a world of four, on memory of the test's own.
class MachineGroupBoardTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  MachineGroupBoardTest() {
    Seats::prepare(roster_memory_.get(), std::vector<int>{0, 1, 2}, kRanks + 1);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(roster_memory_.get(), rank, *platform_));
      rosters_.back()->join({.pid = 100U + rank, .started = 7});
      boards_.push_back(
          std::make_unique<GroupBoard>(memory_.get(), shape_, *rosters_.back(), *platform_));
    }
  }

  GroupShape shape_{
      .elements = 4, .ranks = kRanks, .world_ranks = kRanks + 1, .groups = 3, .window = 8};
  Memory roster_memory_ = zeroed(Seats::bytes(kRanks));
  Memory memory_ = zeroed(shape_.bytes());
  std::unique_ptr<Platform> platform_ = make_thread_platform();
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::vector<std::unique_ptr<GroupBoard>> boards_;
};

TEST_F(MachineGroupBoardTest, ABufferThatTheAgentTakesIsNotTakenByARankInTheMeantime) {
  Roster agents(roster_memory_.get(), 0, *platform_);
  MachineGroupBoard agent(memory_.get(), shape_, agents, *platform_);
  // The agent's own rank is ahead of the group that the agent takes a buffer for.
  constexpr RoundNumber kStep = 5;
  boards_[0]->release_through(kStep);
  const std::vector<int> spanning = {1};
  const std::vector<int> local = {2};
  for (int moment = 0;; ++moment) {
    const RoundNumber rival_step = kStep + 1;
    bool started = false;
    const Interruption interruption(moment, [&] {
      started = boards_[2]->start({.step = rival_step, .group = 2, .members = local});
    });
    const int taken = agent.reserve_result({.step = kStep, .group = 1, .members = spanning});
    ASSERT_GE(taken, 0);
    if (!interruption.happened()) {
      EXPECT_GT(moment, 10) << "the rival never came";
      return;
    }
    EXPECT_TRUE(started);
    EXPECT_NE(boards_[2]->attempt({.step = rival_step, .group = 2}).buffer, taken)
        << "taken twice, at step " << moment;
    // As it was before, for the next moment.
    std::fill_n(memory_.get(), shape_.bytes(), std::byte{0});
    boards_[0]->release_through(kStep);
  }
}

TEST_F(MachineGroupBoardTest, ABufferIsTheAgentsUntilItPublishesThoughAllMembersAreGone) {
  Roster agents(roster_memory_.get(), 0, *platform_);
  MachineGroupBoard agent(memory_.get(), shape_, agents, *platform_);
  const std::vector<int> spanning = {1};
  const LocalGroup where{.step = 5, .group = 1, .members = spanning};
  const int taken = agent.reserve_result(where);
  boards_[1]->leave();
  for (const int rank : {0, 2}) boards_[rank]->release_through(6);
  agent.note_elsewhere(6);
  const std::vector<int> local = {2};
  const auto start = [&](RoundNumber step) {
    EXPECT_TRUE(boards_[2]->start({.step = step, .group = 2, .members = local}));
    return boards_[2]->attempt({.step = step, .group = 2}).buffer;
  };
  EXPECT_NE(start(7), taken);
  agent.publish_mean(where, taken, {}, 0);
  EXPECT_EQ(start(8), taken) << "from then on it is free";
}

}  // namespace
}  // namespace syncopate::board
