// What steps of groups of many machines cost in messages, however long the wait, and whether those
// that wait find out for whom. Only the agreement is real.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "round/group_agreement.h"
#include "round/played_messages.h"

namespace syncopate::round {
namespace {

constexpr Time kSecond = 1'000'000'000;

std::vector<int> one_rank_each(int machines) {
  std::vector<int> machine_of(machines);
  for (int machine = 0; machine < machines; ++machine) machine_of[machine] = machine;
  return machine_of;
}

/// Machines of one rank each.
class Cluster {
 public:
  Cluster(int machines, const GroupOptions& options) : facts_(machines), network_(machines) {
    const Machines table(one_rank_each(machines));
    for (int machine = 0; machine < machines; ++machine) {
      agreements_.emplace_back(options, table, machine);
      facts_[machine] = {.counts = true};
    }
    for (int machine = 0; machine < machines; ++machine) look(machine);
  }
  void publish(int machine, std::uint64_t step) {
    facts_[machine].published = step;
    facts_[machine].waits = true;
    look(machine);
  }
  void see(int machine, std::uint64_t step) {
    facts_[machine].seen = step;
    facts_[machine].waits = facts_[machine].published > step;
    look(machine);
  }
  void run(Time until) {
    network_.run(
        until,
        [&](int from, const GroupAgreement::Outgoing& one) {
          agreements_[one.to].hear(from, one.message);
          network_.note_news(one.to, now());
        },
        [&](int machine) { look(machine); });
  }
  /// How many machines have brought their shares so far.
  int brought() const { return brought_; }
  std::int64_t messages() const { return network_.count(); }
  Time now() const { return network_.now(); }
  RankSet missing(int machine) const { return agreements_[machine].missing().ranks(); }

  /// Its agent looks at its board.
  void look(int machine) {
    GroupAgreement& agreement = agreements_[machine];
    network_.note_looked(machine, agreement.observe({&facts_[machine], 1}, now()));
    for (const GroupRound& round : agreement.started()) {
      ++brought_;
      agreement.bring(round, {.contributors = {machine}});
    }
    network_.send(machine, agreement.take_messages());
  }

 private:
  std::vector<GroupAgreement> agreements_;
  std::vector<GroupFacts> facts_;
  PlayedMessages<GroupAgreement::Outgoing> network_;
  int brought_ = 0;
};

constexpr int kSize = 4;

TEST(GroupMessageBounds, OfALongWaitForMembers) {
  for (const int machines : {64, 256, 1024}) {
    for (const Time wait : {kSecond / 10, kSecond, 300 * kSecond}) {
      Cluster cluster(machines, {.group_size = kSize, .trigger = all(), .window = 2});
      for (int machine = 1; machine < machines; ++machine) cluster.publish(machine, 1);
      cluster.run(wait);
      cluster.publish(0, 1);
      cluster.run(cluster.now() + kSecond / 100);
      EXPECT_EQ(cluster.brought(), machines);
      EXPECT_LE(cluster.messages(), 4 * kSize * machines);
    }
  }
}

TEST(GroupMessageBounds, OfALongWaitForTheWindow) {
  for (const int machines : {64, 256, 1024}) {
    for (const int lagging : {1, machines / 2}) {
      for (const Time wait : {kSecond / 10, kSecond, 300 * kSecond}) {
        Cluster cluster(machines, {.group_size = kSize, .trigger = first(), .window = 1});
        for (int machine = lagging; machine < machines; ++machine) cluster.see(machine, 1);
        for (int machine = lagging; machine < machines; ++machine) cluster.publish(machine, 2);
        cluster.run(wait);
        EXPECT_EQ(cluster.brought(), 0) << "outside the window";
        if (wait >= kSecond) {
          EXPECT_EQ(cluster.missing(machines - 1).size(), lagging);
        }
        for (int machine = 0; machine < lagging; ++machine) cluster.see(machine, 1);
        cluster.run(cluster.now() + kSecond / 100);
        EXPECT_GE(cluster.brought(), machines - lagging) << "all who wait, and their groups";
        EXPECT_LE(cluster.messages(), 4 * kSize * machines) << lagging << " of " << machines;
      }
    }
  }
}

TEST(GroupMessageBounds, OfALongWaitForAll) {
  for (const int machines : {64, 256, 1024}) {
    for (const Time wait : {kSecond, 300 * kSecond}) {
      Cluster cluster(machines, {.group_size = kSize, .synchronize_every = 1, .window = 2});
      for (int machine = 2; machine < machines; ++machine) cluster.publish(machine, 1);
      cluster.run(wait);
      for (int machine = 2; machine < machines; ++machine) {
        EXPECT_EQ(cluster.missing(machine).list(), (std::vector{0, 1})) << "on " << machine;
      }
      EXPECT_LE(cluster.messages(), 8 * machines);
    }
  }
}

/// Those that are late come one by one, and agents look at their boards all the time: neither makes
/// machines tell each other more.
TEST(GroupMessageBounds, OfManyChangesInALongWaitForAll) {
  constexpr int kLate = 40;
  for (const int machines : {64, 256}) {
    for (const Time wait : {kSecond, 300 * kSecond}) {
      Cluster cluster(machines, {.group_size = kSize, .synchronize_every = 1, .window = 2});
      for (int machine = kLate; machine < machines; ++machine) cluster.publish(machine, 1);
      for (int comes = 1; comes < kLate; ++comes) {
        cluster.run(wait * comes / kLate);
        for (int machine = 0; machine < machines; ++machine) cluster.look(machine);
        cluster.publish(comes, 1);
      }
      cluster.run(wait);
      EXPECT_LE(cluster.messages(), 8 * machines) << wait / kSecond << " s";
    }
  }
}

TEST(Memory, OfAnAgreementOnGroupsGrowsByAFewBytesPerRank) {
  constexpr int kMachines = 1024;
  constexpr std::size_t kBytesPerRank = 64;
  const std::vector<int> machine_of = one_rank_each(kMachines);
  const auto used = [] { return mallinfo2().uordblks; };
  const std::size_t before = used();
  const GroupAgreement agreement({.group_size = 32, .window = 8}, Machines(machine_of), 3);
  EXPECT_LE(used() - before, kBytesPerRank * kMachines);
}

}  // namespace
}  // namespace syncopate::round
