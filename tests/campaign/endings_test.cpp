// The judge of whole lives under mpirun finds losses that are none, and ranks that vanish.
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

#include "campaign/judge.h"

namespace syncopate::campaign {
namespace {

/// Five ranks, of which 0, 1 and 2, 3, and 4 share machines; rank 1 is struck, and the others have
/// ended.
class CampaignEndings : public ::testing::Test {
 protected:
  CampaignEndings() {
    life_.launcher = Launcher::openmpi;
    life_.ranks = 5;
    life_.split = "1,2";
    life_.blows = {{.rank = kStruck, .signal = SIGKILL}};
    for (int rank = 0; rank < life_.ranks; ++rank) {
      book_->ranks[rank].call = Call::exchange;
      book_->ranks[rank].state = rank == kStruck ? RankBook::State::alive : RankBook::State::ended;
    }
  }
  void tell(int rank, const char* words) {
    book_->ranks[rank].lost = true;
    std::strcpy(book_->ranks[rank].complaint, words);
  }
  std::string found(std::uint32_t struck = 1U << kStruck, bool left_alone = true) {
    return judge_endings(life_, *book_, struck, left_alone);
  }
  void finds(const std::string& what, std::uint32_t struck = 1U << kStruck) {
    EXPECT_NE(found(struck).find(what), std::string::npos) << "found:\n" << found(struck);
  }

  static constexpr int kStruck = 1;
  Life life_;
  SharedBook book_;
};

TEST_F(CampaignEndings, KnowTheMachines) {
  EXPECT_EQ(life_.machine_of(2), (std::vector<int>{1, 2}));
  EXPECT_EQ(life_.machine_of(3), (std::vector<int>{3}));
  EXPECT_EQ(life_.machine_of(4), (std::vector<int>{4}));
  EXPECT_TRUE(life_.speaks(1));
  EXPECT_FALSE(life_.speaks(2));
  life_.split = "";
  EXPECT_FALSE(life_.speaks(0)) << "one machine is not lost";
}

TEST_F(CampaignEndings, AreRightWhereTheLostMachineIsNamed) {
  tell(0, "machine_lost: machine node #1 (ranks 1 and 2) has not answered for 4 s. Look.");
  tell(2, "machine_lost: rank 1 (process 7), which spoke for this machine, is gone. Start again.");
  EXPECT_EQ(found(), "");
}

TEST_F(CampaignEndings, FindALossOfAnotherMachine) {
  tell(0, "machine_lost: machine node #2 (rank 3) has not answered for 4 s. Look.");
  finds("rank 0 was told of a loss that is none");
}

TEST_F(CampaignEndings, FindALossWhereNoMachineIsLost) {
  tell(0, "machine_lost: machine node #1 (ranks 1 and 2) has not answered for 4 s. Look.");
  book_->ranks[kStruck].state = RankBook::State::ended;
  finds("rank 0 was told of a loss that is none", 0);
  finds("rank 0 was told of a loss that is none", 1U << 2);  // It does not speak for its machine.
}

TEST_F(CampaignEndings, FindARankThatVanishes) {
  book_->ranks[3].state = RankBook::State::alive;
  finds("rank 3 ended without a word");
  EXPECT_EQ(found(1U << kStruck, false), "") << "its launcher may have ended it";
}

TEST_F(CampaignEndings, MpiTakesThoseWithItThatItsStartUpWaitsFor) {
  book_->ranks[3].state = RankBook::State::alive;
  book_->ranks[3].call = Call::join;
  finds("rank 3 ended without a word");
  book_->ranks[kStruck].call = Call::join;
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace syncopate::campaign
