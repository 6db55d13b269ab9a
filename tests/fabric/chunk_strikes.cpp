// A rank that is killed while it holds a chunk of its machine's sum: chunk_strikes SCENARIO, as
// strikes.cpp, with the library that has steps. The chunk has to be done again by others.
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "board/step.h"
#include "fabric/striking.h"
#include "support/common.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kSteps = 10, kKilledAt = 4;

struct Case {
  Step step;
  std::size_t elements;
};
const std::map<std::string, Case> kScenarios = {
    // Of several chunks, and of one: shorter sums have none, as the agent makes them alone.
    {"rank-in-a-chunk-killed", {Step::reduce, 200'000}},
    {"rank-in-a-short-chunk-killed", {Step::reduce, 600}},
    {"rank-with-a-chunk-done-killed", {Step::done, 200'000}}};

/// What the hook knows, which is called by the rank and by its machine's agent.
struct Self {
  Case scenario;
  int rank = -1;
  std::atomic<bool> armed;            ///< In the round of the strike. The agent takes part later.
  std::atomic<bool>* held = nullptr;  ///< The victim has a chunk, and nobody has to wait for it.
};
Self self;

/// On the victim's machine all chunks are left to the victim until it is struck.
void on_step(Step at) {
  if (!self.armed) return;
  if (self.rank == kVictim && at == self.scenario.step) {
    *self.held = true;
    strike_myself(self.rank, SIGKILL);
  }
  if (self.rank == kAgent && at == Step::claim) {
    const auto patience = std::chrono::steady_clock::now() + 2s;
    while (!*self.held && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(1ms);
    }
  }
}

/// Another one for each rank, step and element, so that nothing is right by what was there before.
double value(int rank, int step, std::size_t element) {
  return double((rank + 1) * 1000 + step * 100) + double(element % 97);
}

/// The round of this step has what everybody gave who lived when it began.
void check(const Round<double>& round, int step) {
  const int ranks = step > kKilledAt ? kRanks - 1 : kRanks;
  const std::string which = " of round " + std::to_string(step);
  require(round.receipt().contributors.size() == ranks, "the contributors" + which);
  for (std::size_t e = 0; e < self.scenario.elements; ++e) {
    double expected = 0;
    for (int rank = 0; rank < ranks; ++rank) expected += value(rank, step, e);
    if (round.sum()[e] != expected) require(false, "element " + std::to_string(e) + which);
  }
}

void exchange_all(World& world) {
  const std::size_t elements = self.scenario.elements;
  PartialAllreduce<double> rounds(world, elements, {.trigger = all(), .scale = Scale::none});
  for (int step = 1; step <= kSteps; ++step) {
    self.armed = step == kKilledAt;
    for (std::size_t e = 0; e < elements; ++e) rounds.slot()[e] = value(self.rank, step, e);
    for (const auto& round : rounds.exchange()) check(round, step);
  }
  require(world.dead().contains(kVictim), "the world names the dead rank");
  world.barrier();
}

}  // namespace
}  // namespace syncopate::testing

int main(int count, char** arguments) {
  using namespace syncopate::testing;
  const auto found = kScenarios.find(count > 1 ? arguments[1] : "");
  if (found == kScenarios.end()) {
    std::puts("chunk_strikes SCENARIO");
    return EXIT_FAILURE;
  }
  const Common<std::atomic<bool>> held;
  try {
    syncopate::World world = syncopate::World::from_environment();
    self.scenario = found->second;
    self.rank = world.rank();
    self.held = &*held;
    syncopate::board::step_hook = on_step;
    world.barrier();
    exchange_all(world);
  } catch (const std::exception& error) {
    log(self.rank, "failing");
    std::printf("rank %d failed: %s\n", self.rank, error.what());
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
  log(self.rank, "content");
}
