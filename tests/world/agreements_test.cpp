// What the ranks of a machine agree on before they do it together.
#include "world/agreements.h"

#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/fate_platform.h"
#include "support/refusal.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Roster;
using board::Seats;
using world::Agreements;

class AgreementsTest : public ::testing::Test {
 protected:
  static constexpr int kRanks = 4;

  AgreementsTest() : memory_(new (std::align_val_t{128}) std::byte[Seats::bytes(kRanks)]()) {
    Seats::prepare(memory_, kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(memory_, rank, platform_));
      ranks_.push_back(std::make_unique<Agreements>(*rosters_[rank], platform_, timeout_));
    }
  }
  ~AgreementsTest() override { operator delete[](memory_, std::align_val_t{128}); }

  void join(int rank) { rosters_[rank]->seat().join({.pid = 100U + rank, .started = 7}); }
  bool waited_in_vain(int rank) const { return board::waited_in_vain(*rosters_[0], rank); }

  FatePlatform platform_;
  Duration timeout_ = 10s;
  std::byte* memory_;
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::vector<std::unique_ptr<Agreements>> ranks_;
};

TEST_F(AgreementsTest, RanksAgreeInStepAndSeeWhoDoesNot) {
  constexpr int kTurns = 300;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    join(rank);
    threads.emplace_back([&, rank] {
      for (int turn = 1; turn <= kTurns; ++turn) {
        // Every third time one rank, each in its turn, says something else.
        const int odd = turn % 3 == 0 ? turn / 3 % kRanks : -1;
        const auto said_by = [&](int speaker) {
          return std::to_string(turn) + (speaker == odd ? " otherwise" : " together");
        };
        if (odd < 0) {
          ASSERT_NO_THROW(ranks_[rank]->agree(said_by(rank))) << "turn " << turn;
          continue;
        }
        const int other = rank == odd ? (odd == 0 ? 1 : 0) : odd;
        expect_refused(ErrorCode::mismatch,
                       {"rank " + std::to_string(rank) + " calls for a " + said_by(rank),
                        "rank " + std::to_string(other) + " calls for a " + said_by(other)},
                       [&] { ranks_[rank]->agree(said_by(rank)); });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AgreementsTest, DoNotWaitForTheDeadOrTheGone) {
  for (int rank = 0; rank < kRanks; ++rank) join(rank);
  rosters_[1]->seat().leave();
  platform_.dead = {2, 3};
  EXPECT_NO_THROW(ranks_[0]->agree("x"));
}

TEST_F(AgreementsTest, NameWhoDidNotComeAndStandForASecondTry) {
  join(0);
  join(2);
  rosters_[2]->seat().leave();
  join(3);
  timeout_ = 30ms;
  expect_refused(ErrorCode::timeout,
                 {"rank 0 waited 0.03", " s for rank 1 (has not joined), rank 3 (pid 103) to join",
                  "in a barrier", "same order"},
                 [&] { ranks_[0]->agree("barrier"); });
  EXPECT_TRUE(waited_in_vain(0));
  timeout_ = 10s;
  join(1);
  std::thread first([&] { EXPECT_NO_THROW(ranks_[1]->agree("barrier")); });
  std::thread third([&] { EXPECT_NO_THROW(ranks_[3]->agree("barrier")); });
  EXPECT_NO_THROW(ranks_[0]->agree("barrier"));
  first.join();
  third.join();
}

}  // namespace
}  // namespace syncopate::testing
