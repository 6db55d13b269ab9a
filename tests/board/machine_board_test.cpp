// The board of a partial allreduce with an agent and a rank that gives up on a round late.
#include "board/machine_board.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace syncopate::board
