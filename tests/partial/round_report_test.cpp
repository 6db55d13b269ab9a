// What machines report of a round comes out of their reports again, put together.
#include "partial/round_report.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/bad_message.h"
#include "base/bits.h"
#include "support/memory_fabric.h"

namespace syncopate::testing {
namespace {

using detail::RoundReports;
using partial::MachineRounds;

/// Two machines: ranks 0 and 2 are on the first, ranks 1, 3 and 4 on the second.
class RoundReport : public ::testing::Test {
 protected:
  RoundReport() {
    topology_.machine_of = {0, 1, 0, 1, 1};
    topology_.addresses = {"one", "two"};
    for (int machine = 0; machine < 2; ++machine) {
      EXPECT_TRUE(fabrics_[machine]->open(channels_.emplace_back())->done());
      topology_.machine = machine;
      reports_.push_back(std::make_unique<RoundReports>(topology_.machine_of, /*values_bytes=*/4));
    }
  }

  static MachineRounds::Share share(double weight, const std::vector<int>& contributors) {
    MachineRounds::Share share{.header = {.weight = weight},
                               .contributors = {0},
                               .reporters = {0},
                               .parting_reporters = {0}};
    for (const int rank : contributors) bits::insert(share.contributors, rank);
    return share;
  }
  static round::Facts facts(int ranks, const std::vector<int>& counting, std::uint64_t seen) {
    round::Facts facts{.here = RankSet(ranks), .counting = RankSet(ranks), .seen = seen};
    for (const int rank : counting) facts.counting.insert(rank);
    return facts;
  }

  void gather() {
    const auto first = reports_[0]->gather(*channels_[0]);
    const auto second = reports_[1]->gather(*channels_[1]);
    while (!first->done() || !second->done()) {
    }
  }

  RoundReports& of(int machine) { return *reports_[machine]; }

 private:
  std::vector<std::unique_ptr<fabric::Fabric>> fabrics_ = memory_fabrics(2);
  std::vector<std::unique_ptr<fabric::Channel>> channels_;
  fabric::Topology topology_;
  std::vector<std::unique_ptr<RoundReports>> reports_;
};

TEST_F(RoundReport, IsMergedTheSameWayOnEveryMachine) {
  MachineRounds::Share one = share(2, {1});
  one.header.staleness = 3;
  one.header.dropped = 1;
  bits::insert(one.reporters, 0);
  of(0).pack({.newest_at = 50, .step_time = 7, .newest = 2}, one, facts(2, {0, 1}, 4));
  of(1).pack({.newest_at = 40, .step_time = 9, .newest = 4}, share(5, {0, 2}), facts(3, {1}, 5));
  gather();
  for (int machine = 0; machine < 2; ++machine) {
    of(machine).check(9);
    const RoundReports::Totals totals = of(machine).totals();
    EXPECT_EQ(totals.weight, 7);
    EXPECT_EQ(totals.contributors, 3);
    EXPECT_EQ(totals.heaviest, 5);
    const RoundReports::Merged merged = of(machine).merge(9);
    EXPECT_EQ(merged.said.header.round, 9U);
    EXPECT_EQ(merged.said.header.weight, 7);
    EXPECT_EQ(merged.said.header.staleness, 3U);
    EXPECT_EQ(merged.said.header.dropped, 1U);
    EXPECT_EQ(merged.said.header.newest, 2) << "it came last";
    EXPECT_FALSE(merged.said.header.last);
    EXPECT_EQ(merged.said.contributors[0], 0b10110U) << "ranks 1, 2 and 4";
    EXPECT_EQ(merged.said.reporters[0], 0b1U);
    EXPECT_EQ(merged.typical_step.count(), 7);
    ASSERT_EQ(merged.facts.size(), 2U);
    EXPECT_EQ(merged.facts[0].seen, 4U);
    EXPECT_EQ(merged.facts[1].counting.list(), std::vector<int>{1});
  }
}

TEST_F(RoundReport, NamesTheRankThatHeldTheRoundUp) {
  of(0).pack({.newest_at = 50, .newest = 2}, share(1, {1}), facts(2, {1}, 4));
  of(1).pack({.held_up_by = 3}, share(0, {}), facts(3, {}, 4));
  gather();
  EXPECT_EQ(of(0).merge(6).said.header.newest, 3);
}

TEST_F(RoundReport, OfTheLastRoundTellsWhatRanksHadDroppedSinceTheirLastDeposit) {
  MachineRounds::Share parting = share(1, {0});
  parting.parting_drops = 2;
  bits::insert(parting.parting_reporters, 1);
  for (const bool last : {false, true}) {
    of(0).pack({}, parting, facts(2, {}, 4));
    of(1).pack({}, share(1, {0}), facts(3, last ? std::vector<int>{} : std::vector<int>{2}, 4));
    gather();
    const RoundReports::Merged merged = of(1).merge(6);
    EXPECT_EQ(merged.said.header.last, last);
    EXPECT_EQ(merged.said.header.dropped, last ? 2U : 0U);
    EXPECT_EQ(merged.said.reporters[0], last ? 0b100U : 0U) << "rank 2";
  }
}

TEST_F(RoundReport, ThatCountsContributorsInTwoWaysIsRefused) {
  of(0).pack({.contributors = 1}, share(1, {0}), facts(2, {0}, 4));
  of(1).pack({}, share(1, {0}), facts(3, {0}, 4));
  gather();
  EXPECT_THROW(of(1).check(6), BadMessage);
}

}  // namespace
}  // namespace syncopate::testing
