// A root that is killed in the middle of its broadcast: every survivor has all the data or gets
// rank_lost, which names the root, and the world goes on without it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <span>
#include <string>
#include <vector>

#include "board/step.h"
#include "support/common.h"
#include "support/processes.h"
#include "support/refusal.h"
#include "support/step_name.h"
#include "syncopate/world.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kRanks = 3;
constexpr int kRoot = 1;
/// Three parts, each of which travels in a round of its own.
constexpr int kParts = 3;
constexpr std::size_t kBytes = kParts * (std::size_t{64} << 10) - 100;

struct Book {
  std::atomic<bool> struck;  ///< The root came to the step.
  std::atomic<int> whole;    ///< Ranks that have all the data.
  std::atomic<int> lost;     ///< Ranks that were told of the root's death.
};

/// Where the root is killed: at which of its steps of a kind within the broadcast.
Step fatal_step;
int steps_to_live;
Book* book;

void on_step(Step at) {
  if (at != fatal_step || --steps_to_live > 0) return;
  book->struck = true;
  kill(getpid(), SIGKILL);
}

void receive(World& world) {
  std::vector<char> data(kBytes, world.rank() == kRoot ? 'x' : ' ');
  try {
    world.broadcast(std::span(data), kRoot);
  } catch (const Error&) {
    ++book->lost;
    expect_refused(ErrorCode::rank_lost, {"rank 1"}, [] { throw; });
    return;
  }
  ++book->whole;
  EXPECT_EQ(std::count(data.begin(), data.end(), 'x'), static_cast<std::ptrdiff_t>(kBytes));
}

void live(int rank) {
  World world = World::from_environment();
  world.set_timeout(15s);
  if (rank == kRoot) board::step_hook = on_step;
  receive(world);
  board::step_hook = nullptr;
  // The next broadcast reaches all who are left.
  std::vector<char> news(kBytes, rank == 0 ? 'y' : ' ');
  world.broadcast(std::span(news), 0);
  EXPECT_EQ(news.back(), 'y');
  EXPECT_EQ(world.dead().contains(kRoot), book->struck.load());
}

struct Outcome {
  bool struck;
  int whole;
  int lost;
};

Outcome kill_root_at(Step step, int occurrence) {
  SCOPED_TRACE(to_string(step) + (" number " + std::to_string(occurrence)));
  Common<Book> common;
  book = &*common;
  fatal_step = step;
  steps_to_live = occurrence;
  Processes processes(kRanks, live);
  const std::vector<Ending> endings = processes.wait(30s);
  for (int rank = 0; rank < kRanks; ++rank) {
    const bool killed = rank == kRoot && book->struck;
    EXPECT_EQ(endings[rank].signal, killed ? SIGKILL : 0) << "rank " << rank;
    EXPECT_EQ(endings[rank].code, killed ? -1 : 0) << "rank " << rank << ", said:\n"
                                                   << endings[rank].said;
  }
  return {.struck = book->struck, .whole = book->whole, .lost = book->lost};
}

TEST(RootKilled, BeforeAPartIsThereIsToldToEverySurvivor) {
  for (int part = 1; part <= kParts; ++part) {
    const Outcome outcome = kill_root_at(Step::deposit, part);
    EXPECT_TRUE(outcome.struck) << "part " << part;
    EXPECT_EQ(outcome.lost, kRanks - 1) << "part " << part;
    EXPECT_EQ(outcome.whole, 0) << "part " << part;
  }
}

TEST(RootKilled, AtAnyStepLeavesNobodyWithHalfOfTheData) {
  for (const Step step : {Step::agree, Step::read, Step::write, Step::replace, Step::release}) {
    Outcome outcome{.struck = true};
    for (int n = 1; outcome.struck && n < 1000 && !HasFailure(); n += 1 + n / 6) {
      outcome = kill_root_at(step, n);
      const int survivors = outcome.struck ? kRanks - 1 : kRanks;
      EXPECT_EQ(std::max(outcome.whole, outcome.lost), survivors) << "the survivors differ";
      EXPECT_EQ(std::min(outcome.whole, outcome.lost), 0) << "the survivors differ";
    }
  }
}

}  // namespace
}  // namespace syncopate::testing
