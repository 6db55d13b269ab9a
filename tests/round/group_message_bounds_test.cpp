// What steps of groups of many machines cost in messages, however long the wait, and whether those
// that wait find out for whom. Only the agreement is real.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "round/group_agreement.h"

namespace syncopate::round {
namespace {

constexpr Time kSecond = 1'000'000'000;
constexpr Time kMoment = 20'000;  ///< That a message takes.

std::vector<int> one_rank_each(int machines) {
  std::vector<int> machine_of(machines);
  for (int machine = 0; machine < machines; ++machine) machine_of[machine] = machine;
  return machine_of;
}

/// Machines of one rank each.
class Cluster {
 public:
  Cluster(int machines, const GroupOptions& options) : facts_(machines), again_at_(machines) {
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
    while (true) {
      Time next = flying_.empty() ? kNever : flying_.begin()->first;
      for (const Time at : again_at_) next = std::min(next, at);
      if (next > until) break;
      now_ = std::max(now_, next);
      while (!flying_.empty() && flying_.begin()->first <= now_) {
        const auto [from, outgoing] = flying_.begin()->second;
        flying_.erase(flying_.begin());
        agreements_[outgoing.to].hear(from, outgoing.message);
        again_at_[outgoing.to] = now_;
      }
      for (int machine = 0; machine < static_cast<int>(agreements_.size()); ++machine) {
        if (again_at_[machine] <= now_) look(machine);
      }
    }
    now_ = until;
  }
  /// How many machines have brought their shares so far.
  int brought() const { return brought_; }
  std::int64_t messages() const { return messages_; }
  Time now() const { return now_; }
  RankSet missing(int machine) const { return agreements_[machine].missing(); }

 private:
  void look(int machine) {
    GroupAgreement& agreement = agreements_[machine];
    again_at_[machine] = agreement.observe({&facts_[machine], 1}, now_);
    if (again_at_[machine] <= now_) again_at_[machine] = now_ + 1;
    for (const GroupRound& round : agreement.started()) {
      ++brought_;
      agreement.bring(round, {.contributors = {machine}});
    }
    for (auto& outgoing : agreement.take_messages()) {
      ++messages_;
      flying_.emplace(now_ + kMoment, std::pair(machine, std::move(outgoing)));
    }
  }

  std::vector<GroupAgreement> agreements_;
  std::vector<GroupFacts> facts_;
  std::vector<Time> again_at_;
  std::multimap<Time, std::pair<int, GroupAgreement::Outgoing>> flying_;
  Time now_ = 0;
  std::int64_t messages_ = 0;
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
