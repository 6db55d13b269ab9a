// The rounds of a partial allreduce with an agent: results that take the place of a deposit, a rank
// that gives up on a round late, and one that adds to a deposit while the agent takes it.
#include "partial/machine_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "board/own_board.h"

namespace syncopate::partial {
namespace {

using board::Interruption;
using board::make_thread_platform;
using board::Platform;
using board::Roster;
using board::Seats;
using board::zeroed;

constexpr std::size_t kElements = 8;

/// The board of a machine in a world that has one rank more, elsewhere.
class Machine {
 public:
  explicit Machine(int ranks)
      : shape_{.elements = kElements, .ranks = ranks, .world_ranks = ranks + 1, .window = 8} {
    std::vector<int> numbers(ranks);
    for (int rank = 0; rank < ranks; ++rank) numbers[rank] = rank;
    Seats::prepare(seats_.get(), numbers, ranks + 1);
    for (int rank = 0; rank < ranks; ++rank) {
      rosters_.push_back(std::make_unique<Roster>(seats_.get(), rank, *platform_));
      rosters_.back()->seat().join({.pid = 100U + rank, .started = 7});
      ranks_.push_back(
          std::make_unique<Board>(memory_.get(), shape_, *rosters_.back(), *platform_));
    }
    agent_ = std::make_unique<MachineRounds>(memory_.get(), shape_, *rosters_[0], *platform_);
  }

  MachineRounds& agent() { return *agent_; }
  Board& rank(int rank) { return *ranks_[rank]; }

  void* deposit(int rank, float value) {
    const int slot = ranks_[rank]->deposits.writable_slot();
    auto* const values = static_cast<float*>(ranks_[rank]->deposits.values(slot));
    std::fill_n(values, kElements, value);
    ranks_[rank]->deposits.describe(slot, 1, ranks_[rank]->window.seen(), 0,
                                    Deposits::Form::values);
    ranks_[rank]->deposits.put(slot);
    return values;
  }
  void take(RoundNumber round) {
    MachineRounds::Share share;
    agent_->take(round, share);
  }
  void publish(RoundNumber round) {
    agent_->publish(round, {.header = {.round = round}, .contributors = {0}, .reporters = {0}});
  }
  const void* result(int rank, RoundNumber round) const {
    const Results& results = ranks_[rank]->results;
    return results.buffers().values(results.buffer_of(round));
  }

 private:
  Shape shape_;
  board::Memory seats_ = zeroed(Seats::bytes(shape_.ranks));
  board::Memory memory_ = zeroed(shape_.bytes());
  std::unique_ptr<Platform> platform_ = make_thread_platform();
  std::vector<std::unique_ptr<Roster>> rosters_;
  std::vector<std::unique_ptr<Board>> ranks_;
  std::unique_ptr<MachineRounds> agent_;
};

void fill(void* values, float value) { std::fill_n(static_cast<float*>(values), kElements, value); }

std::vector<float> read(const void* values) {
  const auto* const begin = static_cast<const float*>(values);
  return {begin, begin + kElements};
}

TEST(MachineRounds, AResultTakesThePlaceOfTheOnlyShare) {
  Machine machine(1);
  std::set<const void*> places;
  for (RoundNumber round = 1; round <= 6; ++round) {
    const void* const before = round > 1 ? machine.result(0, round - 1) : nullptr;
    places.insert(machine.deposit(0, float(round)));
    if (round > 1) {
      EXPECT_EQ(read(before), std::vector<float>(kElements, 99 + float(round)))
          << "a rank writes while it has a result";
    }
    machine.take(round);
    machine.rank(0).window.release_through(round - 1);
    const MachineRounds::OnlyShare sum = machine.agent().only_share(round);
    ASSERT_TRUE(sum.spare);
    EXPECT_EQ(read(sum.values), std::vector<float>(kElements, float(round)));
    fill(sum.values, 100 + float(round));
    machine.agent().adopt(sum);
    machine.publish(round);
    EXPECT_EQ(machine.result(0, round), sum.values);
    EXPECT_EQ(read(machine.result(0, round)), std::vector<float>(kElements, 100 + float(round)));
    places.insert(machine.result(0, round));
  }
  EXPECT_EQ(places.size(), 2U) << "a result, and the next deposit";
}

TEST(MachineRounds, OpensARoundThoughARankGivesUpOnTheOneBefore) {
  for (int moment = 0;; ++moment) {
    Machine machine(2);
    machine.take(1);
    machine.agent().board().stage.open(1, 1);
    const AttemptWord stalled = machine.rank(1).stage.attempt();
    machine.publish(1);
    machine.take(2);
    const Interruption interruption(moment, [&] { machine.rank(1).stage.retry(stalled); });
    machine.agent().board().stage.open(2, 1);
    EXPECT_EQ(machine.agent().board().stage.attempt().round, 2U) << "after step " << moment;
    if (!interruption.happened()) {
      EXPECT_GT(moment, 2) << "no rank ever gave up";
      return;
    }
  }
}

TEST(MachineRounds, WhatIsSpareIsNotReadByARankThatAddsToIt) {
  int spare = 0, in_use = 0;
  for (int moment = 0;; ++moment) {
    Machine machine(1);
    float taken = 0;
    const auto take = [&](RoundNumber round) {
      machine.take(round);
      const MachineRounds::OnlyShare only = machine.agent().only_share(round);
      if (only.values == nullptr) return;
      taken += read(only.values).back();
      ++(only.spare ? spare : in_use);
      if (only.spare) fill(only.values, 1000);
    };
    machine.deposit(0, 1);
    bool happened = false;
    {
      const Interruption interruption(moment, [&] { take(1); });
      machine.deposit(0, 10);
      happened = interruption.happened();
    }
    if (!happened) take(1);
    machine.publish(1);
    take(2);
    EXPECT_EQ(taken, 11) << "after step " << moment;
    if (!happened) break;
  }
  EXPECT_GT(in_use, 1) << "the agent never came while the rank was adding";
  EXPECT_GT(spare, 2);
}

TEST(MachineRoundsDeathTest, NoRoundIsTakenBeyondTheWindow) {
  Machine machine(2);
  for (RoundNumber round = 1; round <= 8; ++round) {
    machine.take(round);
    machine.publish(round);
  }
  EXPECT_DEATH(machine.take(9), "machine_rounds\\.h 2");
}

TEST(MachineRoundsDeathTest, RoundsArePublishedInOrder) {
  Machine machine(2);
  machine.take(1);
  EXPECT_DEATH(machine.publish(2), "machine_rounds\\.h 1");
}

TEST(MachineRounds, WhatARankKeepsIsNotSpare) {
  Machine machine(1);
  const auto spare_in = [&](RoundNumber round, int deposits) {
    for (int i = 0; i < deposits; ++i) machine.deposit(0, 1);
    machine.take(round);
    const bool spare = machine.agent().only_share(round).spare;
    machine.publish(round);
    return spare;
  };
  EXPECT_TRUE(spare_in(1, 1));
  machine.rank(0).deposits.keep();
  EXPECT_FALSE(spare_in(2, 1));
  EXPECT_FALSE(spare_in(3, 2)) << "after it has added to one";
}

}  // namespace
}  // namespace syncopate::partial
