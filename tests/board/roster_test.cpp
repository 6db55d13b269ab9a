// Who is in the world: seats, lives, and what ranks agree on.
#include "board/roster.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <thread>

#include "agent/mailbox.h"
#include "support/refusal.h"

namespace syncopate::board {
namespace {

using namespace std::chrono_literals;
using testing::expect_refused;

/// Ranks live as the test says.
class FatePlatform : public Platform {
 public:
  Time now() override { return real_->now(); }
  void park(Shared<std::uint32_t>& word, std::uint32_t expected, Time until) override {
    real_->park(word, expected, until);
  }
  void wake(Shared<std::uint32_t>& word, int count) override { real_->wake(word, count); }
  bool alive(int rank, const ProcessId& /*process*/) override { return !dead.contains(rank); }
  std::string describe(const ProcessId& process) override {
    return "pid " + std::to_string(process.pid);
  }
  Eagerness eagerness(bool oversubscribed) const override {
    return real_->eagerness(oversubscribed);
  }
  Time yield(Time now) override { return real_->yield(now); }
  bool crowded(Time now) const override { return real_->crowded(now); }
  Cores cores() const override { return cores_here; }

  std::set<int> dead;
  Cores cores_here{.mask = {0b1111}};

 private:
  std::unique_ptr<Platform> real_ = make_thread_platform();
};

class RosterTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  RosterTest() : memory_(new (std::align_val_t{128}) std::byte[Roster::bytes(kRanks)]()) {
    Roster::prepare(memory_, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(memory_, rank, platform_));
    }
  }
  ~RosterTest() override { operator delete[](memory_, std::align_val_t{128}); }

  void join(int rank) { rosters_[rank]->join({.pid = 100U + rank, .started = 7}); }
  Time in(Duration time) { return platform_.now() + time.count(); }
  static Proposal words(const std::string& text) {
    Proposal proposal{};
    text.copy(proposal.data(), proposal.size() - 1);
    return proposal;
  }

  FatePlatform platform_;
  std::byte* memory_;
  std::vector<std::unique_ptr<Roster>> rosters_;
};

TEST_F(RosterTest, ASeatIsTakenOnce) {
  join(1);
  EXPECT_EQ(rosters_[0]->life(1), Life::present);
  expect_refused(ErrorCode::environment, {"rank 1 is already taken by process 101"},
                 [&] { join(1); });
  rosters_[1]->leave();
  EXPECT_EQ(rosters_[0]->life(1), Life::left);
  expect_refused(ErrorCode::environment, {"rank 1 is already taken"}, [&] { join(1); });
}

TEST_F(RosterTest, TheCoresAreThoseOfAllRanksTogetherUpToTheQuota) {
  for (int rank = 0; rank < kRanks; ++rank) {
    // Two neighbours each, the last rank beyond the first word.
    platform_.cores_here.mask = {rank < 3 ? std::uint64_t{0b11} << rank : 0, rank < 3 ? 0U : 0b1U};
    join(rank);
  }
  EXPECT_EQ(rosters_[0]->cores(), 5);
  EXPECT_FALSE(rosters_[0]->oversubscribed());
  platform_.cores_here.quota = 3;
  EXPECT_EQ(rosters_[1]->cores(), 3);
  EXPECT_TRUE(rosters_[1]->oversubscribed());
}

TEST_F(RosterTest, WhoDiesIsDeadForEveryoneAndWhoLeftIsNot) {
  for (int rank = 0; rank < kRanks; ++rank) join(rank);
  rosters_[2]->leave();
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
  const auto desk = std::make_unique<std::byte[]>(detail::AgentMailbox::bytes());
  const detail::AgentMailbox mailbox(desk.get(), *rosters_[1], platform_);
  rosters_[Roster::kAgentsRank]->leave();
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
  EXPECT_TRUE(rosters_[0]->expected(1)) << "nobody can tell yet";
  EXPECT_EQ(rosters_[0]->describe(1), "rank 1 (has not joined)");
  rosters_[0]->gone(1);
  EXPECT_TRUE(rosters_[0]->dead(1));
}

TEST_F(RosterTest, TheLauncherDoesNotTurnALeaverIntoADeadRank) {
  join(1);
  rosters_[1]->leave();
  rosters_[0]->gone(1);
  EXPECT_EQ(rosters_[0]->life(1), Life::left);
}

TEST_F(RosterTest, RanksAgreeInStepAndSeeWhoDoesNot) {
  constexpr int kTurns = 300;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    join(rank);
    threads.emplace_back([&, rank] {
      Roster& roster = *rosters_[rank];
      for (std::uint64_t turn = 1; turn <= kTurns; ++turn) {
        // Every third time one rank, each in its turn, says something else.
        const int odd = turn % 3 == 0 ? static_cast<int>(turn / 3 % kRanks) : -1;
        const auto said_by = [&](int speaker) {
          return std::to_string(turn) + (speaker == odd ? " otherwise" : " together");
        };
        ASSERT_EQ(roster.agree(words(said_by(rank)), in(10s)), turn);
        for (int other = 0; other < kRanks; ++other) {
          const Proposal* theirs = roster.disagreement(other);
          const bool differs = said_by(other) != said_by(rank);
          ASSERT_EQ(theirs != nullptr, differs) << "turn " << turn << ", rank " << other;
          if (differs) {
            EXPECT_EQ(std::string(theirs->data()), said_by(other));
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(RosterTest, AgreementDoesNotWaitForTheDeadOrTheGone) {
  for (int rank = 0; rank < kRanks; ++rank) join(rank);
  rosters_[1]->leave();
  platform_.dead = {2, 3};
  EXPECT_EQ(rosters_[0]->agree(words("x"), in(10s)), 1U);
  EXPECT_EQ(rosters_[0]->disagreement(2), nullptr);
}

TEST_F(RosterTest, AgreementNamesWhoDidNotCome) {
  join(0);
  join(2);
  rosters_[2]->leave();
  join(3);
  expect_refused(ErrorCode::timeout, {"rank 1 (has not joined)", "rank 3 (pid 103)", "same order"},
                 [&] { rosters_[0]->agree(words("x"), in(30ms)); });
}

TEST_F(RosterTest, MemoryThatIsNotABoardIsRefused) {
  EXPECT_EQ(Roster::ranks_on(memory_), kRanks);
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
                   [&] { Roster::ranks_on(memory_); });
    std::memcpy(memory_ + offset, &number, sizeof number);
  }
  EXPECT_EQ(Roster::ranks_on(memory_), kRanks);
}

}  // namespace
}  // namespace syncopate::board
