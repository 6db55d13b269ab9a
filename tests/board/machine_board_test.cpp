// The board of a partial allreduce with an agent: a rank that gives up on a round late, and one
// that adds to a deposit while the agent takes it.
#include "board/machine_board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "board/own_board.h"

namespace syncopate::board {
namespace {

TEST(MachineBoard, OpensARoundThoughARankGivesUpOnTheOneBefore) {
  const PartialShape shape{.elements = 4, .ranks = 2, .world_ranks = 3, .window = 8};
  for (int moment = 0;; ++moment) {
    const auto seats = zeroed(Roster::bytes(2));
    Roster::prepare(seats.get(), std::vector<int>{0, 1}, 3);
    const auto host = make_thread_host();
    Roster agents(seats.get(), 0, *host);
    Roster ranks(seats.get(), 1, *host);
    agents.join({.pid = 100, .started = 7});
    ranks.join({.pid = 101, .started = 7});
    const auto memory = zeroed(shape.bytes());
    MachineBoard agent(memory.get(), shape, agents, *host);
    PartialBoard rank(memory.get(), shape, ranks, *host);
    MachineBoard::Share share;
    agent.take(1, share);
    agent.open(1, 1);
    const AttemptWord stalled = rank.attempt();
    agent.publish(1, {.header = {.round = 1}, .contributors = {0}, .reporters = {0}});
    agent.take(2, share);
    const Interruption interruption(moment, [&] { rank.retry(stalled); });
    agent.open(2, 1);
    EXPECT_EQ(agent.attempt().round, 2U) << "after step " << moment;
    if (!interruption.happened()) {
      EXPECT_GT(moment, 2) << "nobody ever gave up";
      return;
    }
  }
}

TEST(MachineBoard, WhatIsSpareIsNotReadByARankThatAddsToIt) {
  constexpr std::size_t kElements = 4;
  const PartialShape shape{.elements = kElements, .ranks = 1, .world_ranks = 2, .window = 8};
  int spare = 0, in_use = 0;
  for (int moment = 0;; ++moment) {
    const auto seats = zeroed(Roster::bytes(1));
    Roster::prepare(seats.get(), std::vector<int>{0}, 2);
    const auto host = make_thread_host();
    Roster roster(seats.get(), 0, *host);
    roster.join({.pid = 100, .started = 7});
    const auto memory = zeroed(shape.bytes());
    MachineBoard agent(memory.get(), shape, roster, *host);
    PartialBoard rank(memory.get(), shape, roster, *host);
    const auto deposit = [&](float value) {
      const int slot = rank.writable_slot();
      std::fill_n(static_cast<float*>(rank.slot(slot)), kElements, value);
      rank.deposit(slot, 1, 0, 0);
    };
    float taken = 0;
    const auto take = [&](RoundNumber round) {
      MachineBoard::Share share;
      agent.take(round, share);
      const MachineBoard::OnlyShare only = agent.only_share(round);
      if (only.values == nullptr) return;
      auto* const values = static_cast<float*>(only.values);
      taken += values[kElements - 1];
      ++(only.spare ? spare : in_use);
      if (only.spare) std::fill_n(values, kElements, 1000.F);
    };
    deposit(1);
    bool happened = false;
    {
      const Interruption interruption(moment, [&] { take(1); });
      deposit(10);
      happened = interruption.happened();
    }
    if (!happened) take(1);
    agent.publish(1, {.header = {.round = 1}, .contributors = {0}, .reporters = {0}});
    take(2);
    EXPECT_EQ(taken, 11) << "after step " << moment;
    if (!happened) break;
  }
  EXPECT_GT(in_use, 1) << "the agent never came while the rank was adding";
  EXPECT_GT(spare, 2);
}

TEST(MachineBoard, WhatARankKeepsIsNotSpare) {
  const PartialShape shape{.elements = 4, .ranks = 1, .world_ranks = 2, .window = 8};
  const auto seats = zeroed(Roster::bytes(1));
  Roster::prepare(seats.get(), std::vector<int>{0}, 2);
  const auto host = make_thread_host();
  Roster roster(seats.get(), 0, *host);
  roster.join({.pid = 100, .started = 7});
  const auto memory = zeroed(shape.bytes());
  MachineBoard agent(memory.get(), shape, roster, *host);
  PartialBoard rank(memory.get(), shape, roster, *host);
  const auto spare_in = [&](RoundNumber round, int deposits) {
    for (int i = 0; i < deposits; ++i) rank.deposit(rank.writable_slot(), 1, round - 1, 0);
    MachineBoard::Share share;
    agent.take(round, share);
    const bool spare = agent.only_share(round).spare;
    agent.publish(round, {.header = {.round = round}, .contributors = {0}, .reporters = {0}});
    return spare;
  };
  EXPECT_TRUE(spare_in(1, 1));
  rank.keep_deposits();
  EXPECT_FALSE(spare_in(2, 1));
  EXPECT_FALSE(spare_in(3, 2)) << "after it has added to one";
}

}  // namespace
}  // namespace syncopate::board
