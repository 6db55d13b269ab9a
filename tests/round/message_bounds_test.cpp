// What rounds of many machines cost in messages, however long the wait, and whether every machine
// finds out who is late. Only the agreement is real: a clock, boards and messages are played, each
// message taking a moment.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

#include "round/agreement.h"
#include "round/played_messages.h"

namespace syncopate::round {
namespace {

constexpr Time kSecond = 1'000'000'000;

struct Case {
  Trigger trigger;
  int machines = 64;
  int ranks_each = 1;
  int window = 8;
  int late = 1;         ///< So many ranks come late …
  Time wait = kSecond;  ///< … one by one, the last after so long.
  std::string text() const {
    return to_string(trigger) + ", " + std::to_string(machines) + " machines of " +
           std::to_string(ranks_each) + ", window " + std::to_string(window) + ", " +
           std::to_string(late) + " late by " + std::to_string(double(wait) / kSecond) + " s";
  }
};

class Cluster {
 public:
  explicit Cluster(const Case& one) : case_(one), network_(one.machines) {
    std::vector<int> machine_of;
    for (int rank = 0; rank < one.machines * one.ranks_each; ++rank) {
      machine_of.push_back(rank / one.ranks_each);
    }
    const Machines table(machine_of);
    for (int machine = 0; machine < one.machines; ++machine) {
      agreements_.emplace_back(one.trigger, one.window, table, machine);
    }
    boards_.resize(one.machines);
    begin_boards();
  }

  /// A rank has made its deposit and waits.
  void arrive(int rank) {
    const int machine = rank / case_.ranks_each;
    boards_[machine].here.insert(rank % case_.ranks_each);
    boards_[machine].waits = true;
    look(machine);
  }
  /// A machine's ranks have seen the last round.
  void see(int machine) {
    boards_[machine].seen = agreements_[machine].next() - 1;
    look(machine);
  }
  /// Plays until `until`.
  void run(Time until) {
    network_.run(
        until,
        [&](int from, const Agreement::Outgoing& one) {
          network_.note_news(one.to, agreements_[one.to].hear(from, one.message, now()));
          post(one.to);
        },
        [&](int machine) { look(machine); });
  }
  bool all_started() const {
    return std::ranges::all_of(agreements_, [](const Agreement& one) { return one.started(); });
  }
  /// All have taken part.
  void complete() {
    std::vector<Facts> facts = boards_;
    for (int machine = 0; machine < case_.machines; ++machine) {
      agreements_[machine].complete(facts, now());
      post(machine);
    }
    begin_boards();
    network_.forget_count();
  }
  const Agreement& agreement(int machine) const { return agreements_[machine]; }
  std::int64_t messages() const { return network_.count(); }
  Time now() const { return network_.now(); }

 private:
  void begin_boards() {
    for (Facts& board : boards_) {
      const std::uint64_t seen = board.counting.empty() ? 0 : board.seen;
      board = {.here = RankSet(case_.ranks_each),
               .counting = RankSet(case_.ranks_each),
               .seen = seen,
               .slowest = 0};
      for (int rank = 0; rank < case_.ranks_each; ++rank) board.counting.insert(rank);
    }
  }
  void look(int machine) {
    network_.note_looked(machine,
                         agreements_[machine].observe(boards_[machine], Duration(0), now()));
    post(machine);
  }
  void post(int machine) { network_.send(machine, agreements_[machine].take_messages()); }

  Case case_;
  std::vector<Agreement> agreements_;
  std::vector<Facts> boards_;
  PlayedMessages<Agreement::Outgoing> network_;
};

/// Two rounds: of the second the window of 1 waits for all machines.
void play(const Case& one) {
  SCOPED_TRACE(one.text());
  Cluster cluster(one);
  const int ranks = one.machines * one.ranks_each;
  for (int round = 0; round < 2; ++round) {
    const Time begin = cluster.now();
    if (round > 0) {
      for (int machine = 0; machine < one.machines; ++machine) cluster.see(machine);
    }
    // Those that are late, spread over the machines: the last of them last.
    std::vector<bool> late(ranks);
    for (int i = 0; i < one.late; ++i) late[(i * 7 + 3) * one.ranks_each % ranks] = true;
    std::vector<int> order;
    for (int rank = 0; rank < ranks; ++rank) {
      if (late[rank]) order.push_back(rank);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      if (!late[rank]) cluster.arrive(rank);
    }
    const auto stragglers = static_cast<Time>(order.size());
    for (Time i = 0; i < stragglers; ++i) {
      cluster.run(begin + one.wait * (i + 1) / stragglers);
      // When the first has kept them waiting for half a second, all machines know for whom they
      // wait.
      if (i == 0 && stragglers < ranks && one.wait >= stragglers * kSecond / 2 &&
          one.trigger.kind == Trigger::Kind::all) {
        for (int machine = 0; machine < one.machines; ++machine) {
          EXPECT_EQ(cluster.agreement(machine).missing().list(), order) << "on " << machine;
        }
      }
      cluster.arrive(order[i]);
    }
    cluster.run(cluster.now() + kSecond / 100);
    ASSERT_TRUE(cluster.all_started()) << "round " << round;
    const std::int64_t arrivals = one.trigger.kind == Trigger::Kind::count ? ranks : 0;
    EXPECT_LE(cluster.messages(), 8 * one.machines + arrivals) << "round " << round;
    cluster.complete();
  }
}

void play_all(const Trigger& trigger) {
  for (const int machines : {64, 256, 1024}) {
    for (const int ranks_each : {1, 8}) {
      for (const int window : {1, 8}) {
        for (const int late : {1, 8, machines / 2, machines}) {
          for (const Time wait : {kSecond / 10, kSecond, 300 * kSecond}) {
            if (machines == 1024 && (ranks_each > 1 || late == 8)) continue;  // Takes its time.
            play({trigger, machines, ranks_each, window, late, wait});
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(MessageBounds, OfAll) { play_all(all()); }
TEST(MessageBounds, OfFirst) { play_all(first()); }
TEST(MessageBounds, OfMajority) { play_all(majority(1)); }
TEST(MessageBounds, OfCount) { play_all(count(40)); }

/// All come to a round of the first at the same moment, or some of them.
TEST(MessageBounds, ManyThatStartARoundAtOnceCostAFewMessagesEach) {
  for (const int machines : {64, 256, 1024}) {
    for (const int step : {1, 2, 3, 10, machines / 2}) {
      Cluster cluster({.trigger = first(), .machines = machines});
      for (int rank = 0; rank < machines; rank += step) cluster.arrive(rank);
      cluster.run(kSecond / 100);
      ASSERT_TRUE(cluster.all_started());
      EXPECT_LE(cluster.messages(), 8 * machines) << machines << " machines, each " << step << "th";
    }
  }
}

/// What an agreement keeps, with the table of machines that it shares with others.
TEST(Memory, OfAnAgreementGrowsByAFewBytesPerRank) {
  constexpr int kMachines = 1024;
  constexpr std::size_t kBytesPerRank = 40;
  std::vector<int> machine_of(kMachines);
  for (int machine = 0; machine < kMachines; ++machine) machine_of[machine] = machine;
  const auto used = [] { return mallinfo2().uordblks; };
  const std::size_t before = used();
  const Agreement agreement(all(), 8, Machines(machine_of), 3);
  EXPECT_LE(used() - before, kBytesPerRank * kMachines);
}

}  // namespace
}  // namespace syncopate::round
