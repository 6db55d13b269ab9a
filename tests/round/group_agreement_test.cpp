// What machines say to each other about groups, message by message. Whether it holds together under
// any schedule is asked by the explorer (tests/explorer/group_machines_play.h).
#include "round/group_agreement.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

namespace syncopate::round {
namespace {

using Kind = GroupMessage::Kind;
using Messages = std::vector<GroupAgreement::Outgoing>;

GroupOptions options(Trigger trigger = first(), Grace grace = no_grace()) {
  return {.group_size = 2, .synchronize_every = 0, .trigger = trigger, .grace = grace, .window = 2};
}

GroupFacts waiting(std::uint64_t step) {
  return {.counts = true, .published = step, .seen = step - 1, .waits = true};
}
GroupFacts computing(std::uint64_t steps) {
  return {.counts = true, .published = steps, .seen = steps};
}

/// Two machines of one rank, which are a group.
class Pair {
 public:
  explicit Pair(const GroupOptions& options)
      : machines_{GroupAgreement(options, {0, 1}, 0), GroupAgreement(options, {0, 1}, 1)} {}

  GroupAgreement& operator[](int machine) { return machines_[machine]; }
  Time look(int machine, const GroupFacts& rank, Time now = 0) {
    return machines_[machine].observe({&rank, 1}, now);
  }
  /// Hands the messages of a machine to the other; returns them.
  Messages deliver(int from) {
    Messages messages = machines_[from].take_messages();
    for (const auto& [to, message] : messages) machines_[to].hear(from, message);
    return messages;
  }

 private:
  std::array<GroupAgreement, 2> machines_;
};

constexpr GroupRound kFirst{.step = 1, .group = 0};

TEST(GroupAgreement, TheFirstStartsTheRoundOfItsGroupWithOneMessage) {
  Pair pair(options());
  pair.look(1, computing(0));
  pair.look(0, waiting(1));
  ASSERT_EQ(pair[0].started(), std::vector{kFirst});
  EXPECT_TRUE(pair.deliver(0).empty()) << "said something before it had chosen";
  pair[0].bring(kFirst, {.staleness = 0, .contributors = {0}});
  EXPECT_EQ(pair.deliver(0).size(), 1U);
  EXPECT_TRUE(pair[0].started().empty()) << "its share is wanted again";
  pair.look(1, computing(0));
  ASSERT_EQ(pair[1].started(), std::vector{kFirst});
  pair[1].bring(kFirst, {.staleness = 1, .contributors = {1}});
  EXPECT_TRUE(pair[1].party(kFirst).complete());
  EXPECT_FALSE(pair[0].party(kFirst).complete());
  pair.deliver(1);
  EXPECT_TRUE(pair[0].party(kFirst).complete());
  EXPECT_EQ(pair[0].party(kFirst).shares, pair[1].party(kFirst).shares);
}

TEST(GroupAgreement, APublicationAloneStartsNothing) {
  Pair pair(options());
  GroupFacts absorbed = waiting(1);
  absorbed.waits = false;
  pair.look(0, absorbed);
  EXPECT_TRUE(pair[0].started().empty());
}

TEST(GroupAgreement, WithAllAMachineBringsItsShareWhenItsOwnRanksAreThere) {
  Pair pair(options(all()));
  pair.look(0, waiting(1));
  ASSERT_EQ(pair[0].started(), std::vector{kFirst});
  pair[0].bring(kFirst, {.contributors = {0}});
  pair.deliver(0);
  pair.look(1, computing(0));
  EXPECT_TRUE(pair[1].started().empty());
  pair.look(1, waiting(1));
  EXPECT_EQ(pair[1].started(), std::vector{kFirst});
}

TEST(GroupAgreement, NobodyWaitsForTheEndOfTheGraceWhenAllAreHere) {
  Pair pair(options(first(), grace(std::chrono::seconds(1))));
  pair.look(0, waiting(1), 500);
  EXPECT_TRUE(pair[0].started().empty());
  pair.deliver(0);
  pair.look(1, waiting(1), 600);
  EXPECT_EQ(pair[1].started(), std::vector{kFirst}) << "it knows that both are here";
  pair.deliver(1);
  pair.look(0, waiting(1), 700);
  EXPECT_EQ(pair[0].started(), std::vector{kFirst});
}

TEST(GroupAgreement, TheGraceEnds) {
  Pair pair(options(first(), grace(std::chrono::milliseconds(1))));
  EXPECT_EQ(pair.look(0, waiting(1), 500), 1'000'500);
  EXPECT_TRUE(pair[0].started().empty());
  pair.look(0, waiting(1), 1'000'500);
  EXPECT_EQ(pair[0].started(), std::vector{kFirst});
}

TEST(GroupAgreement, NobodyWaitsForTheEndOfTheGraceForAMachineThatAllHaveLeft) {
  Pair pair(options(first(), grace(std::chrono::seconds(1))));
  pair.look(0, waiting(1), 500);
  pair.deliver(0);
  pair.look(1, {.published = 0, .seen = 0}, 600);
  pair.deliver(1);
  EXPECT_TRUE(pair[1].started().empty()) << "it starts what it does not want";
  pair.look(0, waiting(1), 700);
  EXPECT_EQ(pair[0].started(), std::vector{kFirst});
}

TEST(GroupAgreement, AMachineStartsNothingThatOnlyOthersWant) {
  Pair pair(options(first(), automatic_grace(0.5)));
  GroupFacts rank = waiting(1);
  rank.step_time = std::chrono::milliseconds(2);
  pair.look(0, rank, 0);
  pair.deliver(0);
  pair.look(1, computing(1), 100);
  EXPECT_TRUE(pair[1].started().empty());
}

TEST(GroupAgreement, GraceGoesByTheStepsOfTheMembers) {
  Pair pair(options(first(), automatic_grace(0.5)));
  GroupFacts rank = waiting(1);
  rank.step_time = std::chrono::milliseconds(2);
  EXPECT_EQ(pair.look(0, rank, 0), 1'000'000);
}

TEST(GroupAgreement, WhoeverIsHeldUpIsToldEveryBitOfTheWay) {
  Pair pair(options());
  pair.look(1, computing(0));
  const GroupRound third{.step = 3, .group = 0};
  pair.look(0, waiting(3));
  EXPECT_TRUE(pair[0].started().empty()) << "outside the window";
  EXPECT_TRUE(pair[0].progress().held_up());
  const Messages asked = pair.deliver(0);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].message.kind, Kind::ask);
  EXPECT_EQ(asked[0].message.step, 1U);
  pair.look(0, waiting(3));
  EXPECT_TRUE(pair.deliver(0).empty()) << "asked twice";

  pair.look(1, computing(0));
  EXPECT_TRUE(pair[1].progress().held_up()) << "its rank has to say when it has caught up";
  EXPECT_TRUE(pair.deliver(1).empty());
  // Another rank of the asker is further ahead by now.
  pair[1].hear(0, {.kind = Kind::ask, .step = 2});
  pair.look(1, computing(1));
  EXPECT_EQ(pair.deliver(1).size(), 1U) << "one that waits for step 1 only has to wait longer";
  EXPECT_TRUE(pair[1].progress().held_up());
  pair.look(0, waiting(3));
  EXPECT_EQ(pair[0].started(), std::vector{third});
  EXPECT_EQ(pair[0].progress().elsewhere(), 1U);
  pair.look(1, computing(2));
  EXPECT_EQ(pair.deliver(1).size(), 1U);
  EXPECT_FALSE(pair[1].progress().held_up());
}

TEST(GroupAgreement, WhoeverWaitsForLongFindsOutForWhom) {
  Pair pair(options(all()));
  EXPECT_EQ(pair.look(0, waiting(1), 0), kCurious);
  EXPECT_TRUE(pair[0].missing().waits());
  pair.look(0, waiting(1), kCurious);
  pair.deliver(0);
  EXPECT_TRUE(pair[0].missing().ranks().empty());
  pair.look(1, computing(0));
  pair.deliver(1);
  EXPECT_EQ(pair[0].missing().ranks().list(), std::vector{1});
}

TEST(GroupAgreement, WhoeverHasComeSinceIsNotMissingAnyLonger) {
  Pair pair(options(all()));
  pair.look(0, waiting(1), 0);
  pair.look(0, waiting(1), kCurious);
  pair.deliver(0);
  pair.look(1, computing(0));
  pair.deliver(1);
  ASSERT_EQ(pair[0].missing().ranks().list(), std::vector{1});
  const Time again = pair.look(0, waiting(1), kCurious + 1);
  pair.look(0, waiting(1), again);
  pair.deliver(0);
  pair.look(1, waiting(1));
  pair.deliver(1);
  EXPECT_TRUE(pair[0].missing().ranks().empty());
}

TEST(GroupAgreement, OnlyMembersOfTheGroupAreMissing) {
  GroupOptions still = options(all());
  still.rotate = false;
  std::vector<GroupAgreement> machines;
  for (int machine = 0; machine < 4; ++machine) {
    machines.emplace_back(still, std::vector{0, 1, 2, 3}, machine);
    const GroupFacts rank = machine == 0 ? waiting(1) : computing(0);
    machines.back().observe({&rank, 1}, 0);
  }
  const GroupFacts rank = waiting(1);
  machines[0].observe({&rank, 1}, kCurious);
  for (const auto& [to, message] : machines[0].take_messages()) {
    machines[to].hear(0, message);
    const GroupFacts absent = computing(0);
    machines[to].observe({&absent, 1}, kCurious);
    for (const auto& [back, answer] : machines[to].take_messages()) machines[back].hear(to, answer);
  }
  const std::vector<int> group = GroupPlan(4, still).members_at(1, 0);
  ASSERT_EQ(group.size(), 2U);
  EXPECT_EQ(machines[0].missing().ranks().list(), std::vector{group[0] == 0 ? group[1] : group[0]});
}

TEST(GroupAgreement, WhoeverWasThereWhenAskedIsNotMissing) {
  Pair pair(options(all()));
  pair.look(1, computing(0));
  pair.look(0, waiting(1), 0);
  pair.look(0, waiting(1), kCurious);
  pair.deliver(0);
  pair.look(1, waiting(1));  // It has come before it answers.
  pair.deliver(1);
  EXPECT_TRUE(pair[0].missing().ranks().empty());
}

TEST(GroupAgreement, WhatTheLastRankWantedIsForgottenWithIt) {
  Pair pair(options());
  pair.look(0, waiting(3));
  EXPECT_TRUE(pair[0].missing().waits());
  pair.look(0, {.published = 3, .seen = 2});
  EXPECT_FALSE(pair[0].missing().waits());
  EXPECT_EQ(pair[0].report().rounds, 0);
}

TEST(GroupAgreement, AllTogetherWhenNobodyOfThisMachineIsMissing) {
  GroupOptions every_second = options();
  every_second.synchronize_every = 2;
  Pair pair(every_second);
  pair.look(0, computing(1));
  EXPECT_FALSE(pair[0].global_due());
  pair.look(0, waiting(2));
  EXPECT_TRUE(pair[0].global_due());
  EXPECT_TRUE(pair[0].started().empty()) << "a step of all is no round of a group";
  EXPECT_EQ(pair[0].report().step, 2U);
}

TEST(GroupAgreement, ItIsOverWhenAllHaveLeftAndNothingIsUnderWay) {
  const GroupFacts gone{.published = 1, .seen = 1};
  Pair pair(options());
  pair.look(0, waiting(1));
  pair[0].bring(kFirst, {.contributors = {0}});
  pair.look(0, gone);
  pair.look(1, gone);
  ASSERT_TRUE(pair[0].global_due() && pair[1].global_due());
  std::array reports{pair[0].report(), pair[1].report()};
  EXPECT_EQ(reports[0].rounds, 1);
  for (int machine : {0, 1}) {
    EXPECT_EQ(pair[machine].gather(reports), 0U);
    EXPECT_FALSE(pair[machine].over()) << "of machine " << machine << ", before the last round";
  }
  pair[0].complete(kFirst);
  reports = {pair[0].report(), pair[1].report()};
  // The share of machine 0 comes after machine 1 has said that nothing is under way there.
  pair.deliver(0);
  for (int machine : {0, 1}) pair[machine].gather(reports);
  EXPECT_TRUE(pair[0].over());
  EXPECT_FALSE(pair[1].over()) << "its end of the round is under way";
  EXPECT_FALSE(pair[1].global_due()) << "the others have gone";
  pair.look(1, gone);
  pair[1].bring(kFirst, {});
  pair[1].complete(kFirst);
  EXPECT_TRUE(pair[1].over());
}

}  // namespace
}  // namespace syncopate::round
