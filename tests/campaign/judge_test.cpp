// A judge that finds nothing proves nothing: books in which a promise is broken are found out.
#include "campaign/judge.h"

#include <gtest/gtest.h>

#include <functional>

#include "campaign/player.h"

namespace syncopate::campaign {
namespace {

/// Two ranks that each deposited twice and read two rounds, all in order; a seed whose first
/// segment is one partial allreduce that shows everything.
class CampaignJudge : public ::testing::Test {
 protected:
  CampaignJudge() {
    for (life_.seed = 1; !fits(); ++life_.seed) life_ = Life::draw(life_.seed + 1, Launcher::run);
    const Collective collective = life_.segment(0).collectives[0];
    for (int rank = 0; rank < life_.ranks; ++rank) {
      Track& track = book_->ranks[rank].tracks[0];
      book_->ranks[rank].segments = 1;
      track.deposits = 2;
      track.rounds = 2;
      track.parting = Parting::finished;
      for (std::uint32_t i = 0; i < 2; ++i) {
        track.deposit[i].weight = 1;
        track.deposit[i].base_least = track.deposit[i].base_most = i;
        track.deposit[i].made = true;
        Seen& seen = track.seen[i];
        seen.round = i + 1;
        seen.print = 100 + i;
        seen.contributors = (1U << life_.ranks) - 1;
        seen.last = i == 1;
        seen.weight = life_.ranks;
        for (int other = 0; other < life_.ranks; ++other) {
          seen.sums[other][0] = word_of(other, i, collective.type);
          seen.sums[other][1] = 1;
        }
      }
    }
  }

  bool fits() const {
    if (life_.ranks != 3) return false;
    const Segment segment = life_.segment(0);
    return segment.collectives.size() == 1 &&
           segment.collectives[0].kind == Collective::Kind::partial &&
           segment.collectives[0].options.late == carry() && segment.collectives[0].elements >= 6;
  }

  void everywhere(std::uint32_t round, const std::function<void(Seen&)>& change) {
    for (int rank = 0; rank < life_.ranks; ++rank) change(track(rank).seen[round - 1]);
  }
  Track& track(int rank) { return book_->ranks[rank].tracks[0]; }

  void finds(const std::string& what) {
    const std::string found = judge(life_, 0, *book_, endings_);
    EXPECT_NE(found.find(what), std::string::npos) << "found:\n" << found;
  }

  Life life_;
  SharedBook book_;
  Endings endings_;
};

TEST_F(CampaignJudge, FindsNothingWhereNothingIsWrong) {
  EXPECT_EQ(judge(life_, 0, *book_, endings_), "");
}

TEST_F(CampaignJudge, FindsALostDeposit) {
  everywhere(2, [](Seen& seen) {
    seen.sums[1][0] = seen.sums[1][1] = 0;
    seen.contributors &= ~2U;
    seen.weight -= 1;
  });
  finds("deposit 1 of rank 1 is lost");
}

TEST_F(CampaignJudge, FindsADepositThatCountsTwice) {
  everywhere(2, [](Seen& seen) {
    seen.sums[1][0] *= 2;
    seen.sums[1][1] *= 2;
  });
  finds("round 2 has more than rank 1 deposited");
}

TEST_F(CampaignJudge, FindsASumThatNoDepositsMake) {
  everywhere(1, [](Seen& seen) { seen.sums[0][0] -= 0.5; });
  finds("is not made of its deposits");
}

TEST_F(CampaignJudge, FindsTwoResultsOfOneRound) {
  track(2).seen[0].print = 7;
  finds("two ranks differ in round 1");
}

TEST_F(CampaignJudge, FindsASkippedRound) {
  track(1).seen[0] = track(1).seen[1];
  track(1).rounds = 1;
  finds("rank 1 skipped round 1");
}

TEST_F(CampaignJudge, FindsARankThatEndedBeforeTheLastRound) {
  track(1).rounds = 1;
  finds("rank 1 finished without the last round");
}

TEST_F(CampaignJudge, FindsUntrueReceipts) {
  everywhere(2, [](Seen& seen) { seen.weight = 17; });
  finds("says weight");
  everywhere(1, [](Seen& seen) { seen.staleness = 1; });
  finds("says staleness 1");
  everywhere(1, [](Seen& seen) { seen.contributors &= ~1U; });
  finds("differ about rank 0");
}

TEST_F(CampaignJudge, FindsALiveRankThatCountsAsDead) {
  track(0).seen[1].dead = 4;
  finds("deaths that did not happen");
}

TEST_F(CampaignJudge, FindsADeathThatIsNotTold) {
  endings_.killed = 4;
  track(2).parting = Parting::none;
  finds("rank 0 was not told that rank 2 is dead");
}

TEST_F(CampaignJudge, FindsDropsThatAreNotReported) {
  track(1).drops = 1;
  finds("drops only");
}

}  // namespace
}  // namespace syncopate::campaign
