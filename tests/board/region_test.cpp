// The memory of a collective goes with the last who uses it, and not before.
#include "board/region.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <optional>
#include <vector>

namespace syncopate::testing {
namespace {

using board::Region;
using board::Roster;
using board::Seats;
using board::Segment;

/// Two ranks of a machine and, where there are others, its agent, each with a hold on a region.
class RegionTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 2, kAgent = kRanks;

  void make(int world_ranks) {
    std::vector<int> numbers(kRanks);
    std::iota(numbers.begin(), numbers.end(), 0);
    Seats::prepare(control_->data(), numbers, world_ranks);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(control_->data(), rank, *platform_));
      rosters_.back()->seat().join(board::this_process());
      hold(rank);
    }
    if (world_ranks > kRanks) hold(kAgent);
    ASSERT_EQ(Region::agent_of(*rosters_[0]), kAgent);
    holds_[0]->data()[0] = std::byte{7};
  }

  void let_go(int user) { holds_[user].reset(); }
  void leave(int rank) { rosters_[rank]->seat().leave(); }
  void die(int rank) { rosters_[0]->seats().gone(rank, *platform_); }
  /// Whether the region still has what was written there.
  bool in_memory() const { return page_->data()[0] == std::byte{7}; }

 private:
  static constexpr std::size_t kBytes = 1000;

  void hold(int user) {
    holds_[user].emplace(segment_, *rosters_[0], user, Segment::kPage, kBytes);
    page_ = segment_->map(Segment::kPage, Segment::kPage);
  }

  std::unique_ptr<board::Platform> platform_ = board::make_thread_platform();
  std::shared_ptr<Segment> segment_ = Segment::create();
  std::shared_ptr<board::Mapping> control_ = segment_->map(0, Seats::bytes(kRanks));
  std::shared_ptr<board::Mapping> page_;
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::optional<Region> holds_[kRanks + 1];
};

TEST_F(RegionTest, GoesWithTheLastRank) {
  make(kRanks);
  let_go(1);
  EXPECT_TRUE(in_memory());
  let_go(0);
  EXPECT_FALSE(in_memory());
}

TEST_F(RegionTest, IsNotKeptForARankThatDied) {
  make(kRanks);
  die(1);
  EXPECT_TRUE(in_memory());
  let_go(0);
  EXPECT_FALSE(in_memory());
}

TEST_F(RegionTest, IsNotKeptForARankThatLeft) {
  make(kRanks);
  leave(1);
  EXPECT_TRUE(in_memory());
  let_go(0);
  EXPECT_FALSE(in_memory());
}

TEST_F(RegionTest, IsKeptForTheAgentThoughItsRankHasLeft) {
  make(kRanks + 1);
  let_go(Roster::kAgentsRank);
  leave(Roster::kAgentsRank);
  let_go(1);
  EXPECT_TRUE(in_memory()) << "the agent may have to do with it yet";
  let_go(kAgent);
  EXPECT_FALSE(in_memory());
}

TEST_F(RegionTest, IsNotKeptForAnAgentWhoseProcessDied) {
  make(kRanks + 1);
  die(Roster::kAgentsRank);
  EXPECT_TRUE(in_memory());
  let_go(1);
  EXPECT_FALSE(in_memory());
}

TEST_F(RegionTest, IsKeptForARankThoughTheAgentIsDone) {
  make(kRanks + 1);
  let_go(kAgent);
  let_go(0);
  EXPECT_TRUE(in_memory());
  let_go(1);
  EXPECT_FALSE(in_memory());
}

}  // namespace
}  // namespace syncopate::testing
