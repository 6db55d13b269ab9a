// The rounds of a group average with an agent and ranks that use the board at once.
#include "group/machine_rounds.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "board/own_board.h"

namespace syncopate::group {
namespace {

using board::Interruption;
using board::Platform;
using board::Roster;
using board::Seats;
using board::zeroed;

/// Three ranks of this machine in a world of four, on memory of the test's own.
class MachineGroupRounds : public ::testing::Test {
 protected:
  static constexpr int kRanks = 3;

  MachineGroupRounds() {
    Seats::prepare(roster_memory_.get(), std::vector<int>{0, 1, 2}, kRanks + 1);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(roster_memory_.get(), rank, *platform_));
      rosters_.back()->seat().join({.pid = 100U + rank, .started = 7});
      boards_.push_back(
          std::make_unique<Board>(memory_.get(), shape_, *rosters_.back(), *platform_));
    }
  }

  Shape shape_{.elements = 4, .ranks = kRanks, .world_ranks = kRanks + 1, .groups = 3, .window = 8};
  board::Memory roster_memory_ = zeroed(Seats::bytes(kRanks));
  board::Memory memory_ = zeroed(shape_.bytes());
  std::unique_ptr<Platform> platform_ = board::make_thread_platform();
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::vector<std::unique_ptr<Board>> boards_;
};

TEST_F(MachineGroupRounds, ABufferThatTheAgentTakesIsNotTakenByARankInTheMeantime) {
  Roster agents(roster_memory_.get(), 0, *platform_);
  MachineRounds agent(memory_.get(), shape_, agents, *platform_);
  // The agent's own rank is ahead of the group that the agent takes a buffer for.
  constexpr RoundNumber kStep = 5;
  boards_[0]->window.release_through(kStep);
  const std::vector<int> spanning = {1};
  const std::vector<int> local = {2};
  for (int moment = 0;; ++moment) {
    const RoundNumber rival_step = kStep + 1;
    bool started = false;
    const Interruption interruption(moment, [&] {
      started = boards_[2]->rounds.start({.step = rival_step, .group = 2, .members = local});
    });
    MachineRounds::Reserved place;
    ASSERT_TRUE(agent.reserve({.step = kStep, .group = 1, .members = spanning}, place));
    if (!interruption.happened()) {
      EXPECT_GT(moment, 10) << "the rival never came";
      return;
    }
    EXPECT_TRUE(started);
    EXPECT_NE(boards_[2]->rounds.attempt({.step = rival_step, .group = 2}).buffer, place.buffer)
        << "taken twice, at step " << moment;
    // As it was before, for the next moment.
    std::fill_n(memory_.get(), shape_.bytes(), std::byte{0});
    boards_[0]->window.release_through(kStep);
  }
}

TEST_F(MachineGroupRounds, ABufferIsTheAgentsUntilItPublishesThoughAllMembersAreGone) {
  Roster agents(roster_memory_.get(), 0, *platform_);
  MachineRounds agent(memory_.get(), shape_, agents, *platform_);
  const std::vector<int> spanning = {1};
  const LocalGroup where{.step = 5, .group = 1, .members = spanning};
  MachineRounds::Reserved place;
  ASSERT_TRUE(agent.reserve(where, place));
  boards_[1]->leave();
  for (const int rank : {0, 2}) boards_[rank]->window.release_through(6);
  agent.board().window.note_elsewhere(6);
  const std::vector<int> local = {2};
  const auto start = [&](RoundNumber step) {
    EXPECT_TRUE(boards_[2]->rounds.start({.step = step, .group = 2, .members = local}));
    return boards_[2]->rounds.attempt({.step = step, .group = 2}).buffer;
  };
  EXPECT_NE(start(7), place.buffer);
  agent.publish(where, place, {});
  EXPECT_EQ(start(8), place.buffer) << "from then on it is free";
}

}  // namespace
}  // namespace syncopate::group
