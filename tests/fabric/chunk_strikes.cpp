// A rank that is killed while it holds a chunk of its machine's sum: chunk_strikes SCENARIO, as
// strikes.cpp, with the library that has steps. The chunk has to be done again by others. One that
// is stopped there, when some of the sum has been added up over the machines already: the rest is
// made elsewhere. And one that is killed when its deposit has been taken: that counts, though its
// owner is gone by the time that it is added.
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "board/platform.h"
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
  int signal = SIGKILL;
  int chunks = 0;  ///< That the victim does before it is struck.
};
const std::map<std::string, Case> kScenarios = {
    // Of several chunks, and of one: shorter sums have none, as the agent makes them alone.
    {"rank-in-a-chunk-killed", {Step::reduce, 200'000}},
    // In the second of three pieces (sum_by_parts.h).
    {"rank-in-a-chunk-stopped", {Step::reduce, 600'000, SIGSTOP, 11}},
    {"rank-in-a-short-chunk-killed", {Step::reduce, 600}},
    {"rank-with-a-chunk-done-killed", {Step::done, 200'000}},
    {"taken-rank-killed", {Step::decide, 100}}};

/// What ranks of one machine know of each other.
struct Shared {
  std::atomic<bool> held;  ///< The victim has a chunk, and no rank has to wait for it.
  std::atomic<std::uint32_t> victim;
  std::atomic<std::uint64_t> victim_started;
};

/// What the hook knows, which is called by the rank and by its machine's agent.
struct Self {
  Case scenario;
  int rank = -1;
  std::atomic<bool> armed;  ///< In the round of the strike. The agent takes part later.
  Shared* shared = nullptr;
};
Self self;

template <typename Condition>
void await(const Condition& condition) {
  const auto patience = std::chrono::steady_clock::now() + 2s;
  while (!condition() && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(1ms);
  }
}

/// On the thread that does the agent's work: strikes when it has taken the deposits of both ranks,
/// before it looks at them again.
void strike_when_taken(Step at) {
  static thread_local int taken = 0;
  if (at == Step::decide) ++taken;
  if (taken < 2 || at != Step::read) return;
  self.armed = false;
  taken = 0;
  log(kVictim, "struck");
  const board::ProcessId victim{.pid = self.shared->victim, .started = self.shared->victim_started};
  kill(static_cast<pid_t>(victim.pid), SIGKILL);
  await([&, platform = board::make_process_platform(kRanks)] {
    return !platform->alive(kVictim, victim);
  });
}

/// On the victim's machine all chunks are left to the victim until it is struck.
void on_step(Step at) {
  if (!self.armed) return;
  if (self.scenario.step == Step::decide) {
    if (self.rank == kAgent) strike_when_taken(at);
    return;
  }
  if (self.rank == kVictim && at == self.scenario.step) {
    static int chunks = 0;
    if (chunks++ < self.scenario.chunks) return;
    self.armed = false;
    self.shared->held = true;
    strike_myself(self.rank, self.scenario.signal);
  }
  if (self.rank == kAgent && at == Step::claim) {
    await([] { return self.shared->held.load(); });
  }
}

/// Another one for each rank, step and element, so that nothing is right by what was there before.
double value(int rank, int step, std::size_t element) {
  return double((rank + 1) * 1000 + step * 100) + double(element % 97);
}

/// The round of this step has what all ranks gave that lived when it began.
void check(const Round<double>& round, int step) {
  const bool gone = step > kKilledAt && self.scenario.signal == SIGKILL;
  const int ranks = gone ? kRanks - 1 : kRanks;
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
    const bool stopped = step == kKilledAt && self.scenario.signal == SIGSTOP;
    if (stopped && self.rank == kAgent) kill(static_cast<pid_t>(self.shared->victim), SIGCONT);
  }
  require(world.dead().contains(kVictim) == (self.scenario.signal == SIGKILL),
          "the world names the dead rank");
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
  const Common<Shared> shared;
  try {
    syncopate::World world = syncopate::World::from_environment();
    self.scenario = found->second;
    self.rank = world.rank();
    self.shared = &*shared;
    if (self.rank == kVictim) {
      shared->victim_started = syncopate::board::this_process().started;
      shared->victim = syncopate::board::this_process().pid;
    }
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
