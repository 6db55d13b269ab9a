// Who is in the world: seats and lives.
#include "board/roster.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>

#include "agent/rank_mailbox.h"
#include "support/fate_platform.h"
#include "support/refusal.h"

namespace syncopate::board {
namespace {

using testing::expect_refused;
using testing::FatePlatform;

class RosterTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  RosterTest() : memory_(new (std::align_val_t{128}) std::byte[Seats::bytes(kRanks)]()) {
    Seats::prepare(memory_, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(memory_, rank, platform_));
    }
  }
  ~RosterTest() override { operator delete[](memory_, std::align_val_t{128}); }

  void join(int rank) { rosters_[rank]->seat().join({.pid = 100U + rank, .started = 7}); }
  FatePlatform platform_;
  std::byte* memory_;
  std::vector<std::unique_ptr<Roster>> rosters_;
};

TEST_F(RosterTest, ASeatIsTakenOnce) {
  join(1);
  EXPECT_EQ(rosters_[0]->seats().life(1), Life::present);
  expect_refused(ErrorCode::environment, {"rank 1 is already taken by process 101"},
                 [&] { join(1); });
  rosters_[1]->seat().leave();
  EXPECT_EQ(rosters_[0]->seats().life(1), Life::left);
  expect_refused(ErrorCode::environment, {"rank 1 is already taken"}, [&] { join(1); });
}

TEST_F(RosterTest, TheCoresAreThoseOfAllRanksTogetherUpToTheQuota) {
  for (int rank = 0; rank < kRanks; ++rank) {
    // Two neighbors each, the last rank beyond the first word.
    platform_.cores_here.mask = {rank < 3 ? std::uint64_t{0b11} << rank : 0, rank < 3 ? 0U : 0b1U};
    join(rank);
  }
  EXPECT_EQ(rosters_[0]->cores().count(), 5);
  EXPECT_FALSE(rosters_[0]->cores().oversubscribed());
  platform_.cores_here.quota = 3;
  EXPECT_EQ(rosters_[1]->cores().count(), 3);
  EXPECT_TRUE(rosters_[1]->cores().oversubscribed());
}

TEST_F(RosterTest, WhoDiesIsDeadForEveryoneAndWhoLeftIsNot) {
  for (int rank = 0; rank < kRanks; ++rank) join(rank);
  rosters_[2]->seat().leave();
  platform_.dead = {1, 2};
  EXPECT_TRUE(rosters_[0]->look_after());
  EXPECT_FALSE(rosters_[0]->look_after()) << "found once only";
  EXPECT_EQ(rosters_[3]->dead().list(), std::vector<int>{1});
  EXPECT_FALSE(rosters_[3]->expected(1));
  EXPECT_FALSE(rosters_[3]->expected(2));
  EXPECT_EQ(rosters_[3]->describe(1), "rank 1 (dead)");
  EXPECT_EQ(rosters_[3]->describe(2), "rank 2 (has left)");
  EXPECT_EQ(rosters_[3]->describe(0), "rank 0 (pid 100)");
}

TEST_F(RosterTest, TheAgentOfARankThatHasLeftIsMissedOnceItsProcessIsGone) {
  for (int rank = 0; rank < kRanks; ++rank) join(rank);
  const auto desk = std::make_unique<std::byte[]>(sizeof(agent::AgentDesk));
  const agent::RankMailbox mailbox(desk.get(), *rosters_[1], platform_);
  rosters_[Roster::kAgentsRank]->seat().leave();
  EXPECT_NO_THROW(mailbox.check());
  platform_.dead = {Roster::kAgentsRank};
  expect_refused(ErrorCode::machine_lost, {"rank 0", "spoke for this machine", "is gone"},
                 [&] { mailbox.check(); });
  EXPECT_TRUE(mailbox.lost());
}

TEST_F(RosterTest, WhoHasNotJoinedIsExpectedUntilTheLauncherSaysOtherwise) {
  join(0);
  platform_.dead = {1};
  rosters_[0]->look_after();
  EXPECT_TRUE(rosters_[0]->expected(1)) << "no rank can tell yet";
  EXPECT_EQ(rosters_[0]->describe(1), "rank 1 (has not joined)");
  rosters_[0]->seats().gone(1, platform_);
  EXPECT_TRUE(rosters_[0]->dead(1));
}

TEST_F(RosterTest, TheLauncherDoesNotTurnALeaverIntoADeadRank) {
  join(1);
  rosters_[1]->seat().leave();
  rosters_[0]->seats().gone(1, platform_);
  EXPECT_EQ(rosters_[0]->seats().life(1), Life::left);
}

TEST_F(RosterTest, MemoryThatIsNotABoardIsRefused) {
  EXPECT_EQ(Seats::ranks_on(memory_), kRanks);
  const std::string other_build = "not one of this build of Syncopate: it was made by ";
  const std::map<std::size_t, std::string> words{
      {0, "no board of Syncopate"},  // The magic word,
      {8, other_build},              // the version,
      {12, other_build},             // the layout,
      {16, other_build + "9.9"},     // the name of the build
      {48, " seats"},                // and the ranks.
  };
  for (const auto& [offset, refusal] : words) {
    std::uint32_t number = 0;
    std::memcpy(&number, memory_ + offset, sizeof number);
    std::memcpy(memory_ + offset, offset == 16 ? "9.9" : "\xff\xff\xff", sizeof number);
    expect_refused(ErrorCode::environment, {refusal, "Start the ranks with"},
                   [&] { Seats::ranks_on(memory_); });
    std::memcpy(memory_ + offset, &number, sizeof number);
  }
  EXPECT_EQ(Seats::ranks_on(memory_), kRanks);
}

}  // namespace
}  // namespace syncopate::board
