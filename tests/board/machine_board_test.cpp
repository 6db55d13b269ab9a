// The board of a partial allreduce with an agent and a rank that gives up on a round late.
#include "board/machine_board.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "board/step.h"

namespace syncopate::board {
namespace {

std::function<void()>& at_every_step() {
  static std::function<void()> action;
  return action;
}

struct Release {
  void operator()(std::byte* memory) const { operator delete[](memory, std::align_val_t{128}); }
};
std::unique_ptr<std::byte, Release> make(std::size_t bytes) {
  return std::unique_ptr<std::byte, Release>(new (std::align_val_t{128}) std::byte[bytes]());
}

TEST(MachineBoard, OpensARoundThoughARankGivesUpOnTheOneBefore) {
  const PartialShape shape{.elements = 4, .ranks = 2, .world_ranks = 3, .window = 8};
  for (int moment = 0;; ++moment) {
    const auto seats = make(Roster::bytes(2));
    Roster::prepare(seats.get(), std::vector<int>{0, 1}, 3);
    const auto host = make_thread_host();
    Roster agents(seats.get(), 0, *host);
    Roster ranks(seats.get(), 1, *host);
    agents.join({.pid = 100, .started = 7});
    ranks.join({.pid = 101, .started = 7});
    const auto memory = make(shape.bytes());
    MachineBoard agent(memory.get(), shape, agents, *host);
    PartialBoard rank(memory.get(), shape, ranks, *host);
    MachineBoard::Share share;
    agent.take(1, share);
    agent.open(1, 1);
    const AttemptWord stalled = rank.attempt();
    agent.publish(1, {.header = {.round = 1}, .contributors = {0}, .reporters = {0}});
    agent.take(2, share);
    int steps = 0;
    bool gave_up = false;
    at_every_step() = [&] {
      if (steps++ != moment) return;
      step_hook = nullptr;  // The steps of who gives up are not of interest.
      rank.retry(stalled);
      gave_up = true;
    };
    step_hook = [](Step) { at_every_step()(); };
    agent.open(2, 1);
    step_hook = nullptr;
    EXPECT_EQ(agent.attempt().round, 2U) << "after step " << moment;
    if (!gave_up) {
      EXPECT_GT(moment, 2) << "nobody ever gave up";
      return;
    }
  }
}

}  // namespace
}  // namespace syncopate::board
