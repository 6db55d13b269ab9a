// Several helpers stopped in the middle of one round, each in another attempt at it: the round
// is done without them all, because each holds but the buffer of its own attempt.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <vector>

#include "board/step.h"
#include "support/common.h"
#include "support/processes.h"
#include "syncopate/syncopate.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kRanks = 6;
constexpr int kStopped = 4;  ///< Ranks 1 to 4.

struct Book {
  std::atomic<int> stopped;
  std::atomic<int> retries;
};

Book* book = nullptr;
int self = 0;
bool was_stopped = false;

/// Rank r stops in the middle of a chunk of the attempt that follows the stop of rank r − 1. The
/// others leave the attempt alone until it has.
void on_step(Step at) {
  if (at == Step::retry) book->retries = book->stopped.load();
  const int next = book->retries + 1;
  if (at == Step::claim && self != next && next <= kStopped) {
    while (book->stopped < next) sched_yield();
  }
  if (at != Step::reduce || was_stopped || self != next || next > kStopped) return;
  was_stopped = true;
  ++book->stopped;
  kill(getpid(), SIGSTOP);
}

TEST(NobodyWaitsForTheStopped, WhoHoldChunksOfAttemptAfterAttempt) {
  Common<Book> common;
  Processes processes(kRanks, [&](int rank) {
    book = &*common;
    self = rank;
    World world = World::from_environment();
    world.set_timeout(15s);
    PartialAllreduce<float> rounds(world, 64,
                                   {.trigger = all(), .scale = Scale::none, .window = 1});
    board::step_hook = on_step;
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> values(64, static_cast<float>(rank + i));
      for (const auto& round : rounds.exchange(values)) {
        for (const float value : round.sum()) EXPECT_EQ(value, 15.0F + kRanks * i);
      }
      if (i == 0 && rank == 0) {
        EXPECT_EQ(common->stopped, kStopped);
        std::puts("through");
        std::fflush(stdout);
      }
    }
  });
  processes.on_line = [&](int, const std::string&) {
    for (int rank = 1; rank <= kStopped; ++rank) processes.send(rank, SIGCONT);
  };
  for (const Ending& ending : processes.wait(30s)) {
    EXPECT_EQ(ending.code, 0) << "signal " << ending.signal << ", said:\n" << ending.said;
  }
}

}  // namespace
}  // namespace syncopate::testing
