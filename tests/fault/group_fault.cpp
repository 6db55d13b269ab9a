#include "fault/group_fault.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <vector>

#include "board/kernel.h"
#include "round/groups.h"
#include "support/common.h"
#include "support/processes.h"
#include "syncopate/world.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kRanks = 4;
constexpr int kSteps = 5;
constexpr std::size_t kElements = 7;  ///< Four chunks in the stepped library.
constexpr int kBase = 16;
/// Longer than the patience with a helper that holds a chunk, so that this path is taken too.
constexpr auto kStopped = 60ms;
constexpr Duration kTimeout = 15s;

/// What the ranks tell each other and the test, in memory that survives them.
struct Book {
  struct Rank {
    std::atomic<int> arrived;         ///< Steps in which it has slept or returned.
    std::atomic<bool> in_world;       ///< Has made its collective.
    std::atomic<bool> through;        ///< Has made all its steps.
    std::atomic<bool> leaving;        ///< Is done and takes down its world.
    std::atomic<std::uint64_t> dead;  ///< Whom it knows to be dead, at the end.
  };
  std::atomic<bool> struck;
  std::atomic<bool> retried;
  std::atomic<std::uint64_t> killed;
  Rank ranks[kRanks];
  /// Per step and smallest member of the group: which publications were in the sum.
  std::atomic<std::uint64_t> used[kSteps + 1][kRanks];
};

/// The rank that this process is, as its step hook sees it.
struct Self {
  const GroupWorld* world;
  const GroupStrike* strike;
  Book* book;
  Book::Rank* mine;
  int rank;
  bool victim;
  int occurrences = 0;
  int step = 0;
  bool averaging = false;
};
Self self;

void strike_with(int signal) {
  if (signal == SIGKILL) self.book->killed |= 1U << self.rank;
  kill(getpid(), signal);
}

/// A victim that comes last would start the round, but those it wakes may be faster: they leave
/// the round to it until it is struck or through.
void leave_the_start_to_a_late_victim() {
  const GroupStrike& strike = *self.strike;
  if (self.victim || strike.arrival == Arrival::early) return;
  if (self.world->options.trigger.kind != Trigger::Kind::all) return;
  while (!self.book->struck && self.book->ranks[strike.victim].arrived <= self.step) sched_yield();
}

void on_step(Step at) {
  if (at == Step::start) leave_the_start_to_a_late_victim();
  if (at == Step::park && self.averaging) self.mine->arrived = self.step + 1;
  if (at == Step::retry && !self.book->retried.exchange(true) && self.strike->at_retry != 0) {
    strike_with(self.strike->at_retry);
  }
  if (!self.victim || at != self.strike->step) return;
  if (++self.occurrences != self.strike->occurrence) return;
  self.book->struck = true;
  strike_with(self.strike->signal);
}

/// A digit per rank that tells the step, another one in each element.
double digit(int step, std::size_t element) {
  return 1 + (step + 5 * static_cast<int>(element)) % (kBase - 3);
}

double value(int rank, int step, std::size_t element) {
  return digit(step, element) * std::pow(kBase, rank);
}

/// Waits until it is this rank's turn to come. A victim that was struck is not waited for.
void await_turn() {
  const GroupStrike& strike = *self.strike;
  for (int other = 0; other < self.world->ranks; ++other) {
    const bool waits = strike.arrival == Arrival::early ? other == strike.victim : self.victim;
    while (other != self.rank && waits && !self.book->struck &&
           self.book->ranks[other].arrived <= self.step) {
      sched_yield();
    }
  }
}

void check(const GroupReceipt& receipt, const double* weights) {
  const int step = self.step + 1;
  const GroupOptions& options = self.world->options;
  EXPECT_EQ(receipt.step, static_cast<std::uint64_t>(step));
  std::vector<int> members =
      round::GroupSchedule(self.world->ranks, options.group_size, options.rotate, options.seed)
          .members(step - 1, self.rank);
  if (receipt.everyone) {
    members.clear();
    for (int rank = 0; rank < self.world->ranks; ++rank) members.push_back(rank);
  }
  const double count = receipt.members.size();
  const double parts = receipt.included ? count : count + 1;
  std::uint64_t print = 1;
  std::uint64_t staleness = 0;
  std::vector<double> expected(kElements);
  for (const int member : members) {
    print *= 1000003;
    if (!receipt.members.contains(member)) {
      EXPECT_TRUE(receipt.dead.contains(member) || self.book->ranks[member].leaving)
          << "rank " << member << " was left out of step " << step << " and is not named";
      continue;
    }
    double sum = std::round(weights[0] * parts);
    if (!receipt.included) sum -= value(self.rank, step, 0);
    const double found = std::fmod(std::floor(sum / std::pow(kBase, member)), kBase);
    int used = step;
    // Before its first publication every rank has the same initial weights: zeros but for a
    // digit of their own above all others.
    while (used > 0 && digit(used, 0) != found) --used;
    if (member == self.rank) {
      EXPECT_EQ(used == step, receipt.included);
    }
    staleness = std::max<std::uint64_t>(staleness, step - used);
    print += used + 1;
    for (std::size_t e = 0; e < kElements; ++e) {
      expected[e] += used > 0 ? value(member, used, e) : std::pow(kBase, kRanks);
    }
  }
  EXPECT_EQ(receipt.staleness, staleness);
  EXPECT_LE(receipt.staleness, static_cast<std::uint64_t>(options.window));
  for (std::size_t e = 0; e < kElements; ++e) {
    const double mean = expected[e] * (1 / count);
    const double own = value(self.rank, step, e);
    const board::Term late[] = {{.values = &mean, .weight = count}, {.values = &own, .weight = 1}};
    double merged = mean;
    if (!receipt.included) board::weighted_sum(DataType::float64, 1, late, 1 / parts, &merged);
    EXPECT_EQ(weights[e], merged) << "step " << step << ", element " << e;
  }
  std::uint64_t known = 0;
  if (!self.book->used[step][members.front()].compare_exchange_strong(known, print)) {
    EXPECT_EQ(known, print) << "two members differ about step " << step;
  }
}

/// A rank that can know of a kill waits until it does know of the death. One that was taking
/// down its world may be gone in good order.
void note_the_dead(const World& world) {
  std::uint64_t killed = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (!self.book->ranks[rank].leaving) killed |= self.book->killed & 1U << rank;
  }
  do {
    for (const int rank : world.dead().list()) self.mine->dead |= 1U << rank;
  } while ((self.mine->dead & killed) != killed);
}

void live(const GroupWorld& of, const GroupStrike& strike, Book& book, int rank) {
  self = {.world = &of,
          .strike = &strike,
          .book = &book,
          .mine = &book.ranks[rank],
          .rank = rank,
          .victim = rank == strike.victim};
  board::step_hook = on_step;
  World world = World::from_environment();
  world.set_timeout(kTimeout);
  const std::vector<double> initial(kElements, std::pow(kBase, kRanks));
  GroupAverage<double> average(world, initial, of.options);
  self.mine->in_world = true;
  for (self.step = 0; self.step < kSteps; ++self.step) {
    await_turn();
    double* weights = average.weights();
    for (std::size_t e = 0; e < kElements; ++e) weights[e] = value(rank, self.step + 1, e);
    self.averaging = true;
    const GroupReceipt receipt = average.average();
    self.averaging = false;
    check(receipt, average.weights());
    self.mine->arrived = self.step + 1;
  }
  self.mine->through = true;
  std::puts("through");
  std::fflush(stdout);
  note_the_dead(world);
  self.mine->leaving = true;
}

/// Lets stopped ranks go on. Where nobody has to wait for them, that is when the others have got
/// through without them; where they do wait, after a time.
class Awakener {
 public:
  Awakener(Processes& processes, const GroupWorld& world, const Book& book)
      : processes_(processes), world_(world), book_(book) {}

  void stopped(int rank) {
    stopped_.insert(rank);
    if (world_.nobody_waits && book_.ranks[rank].in_world) return look();
    processes_.after(kStopped, [this, rank] { processes_.send(rank, SIGCONT); });
  }

  /// Called when a rank got through or ended.
  void look() {
    for (int rank = 0; rank < world_.ranks; ++rank) {
      const bool gone = (book_.killed >> rank & 1) != 0;
      if (!gone && !stopped_.contains(rank) && !book_.ranks[rank].through) return;
    }
    for (const int rank : stopped_.list()) processes_.send(rank, SIGCONT);
  }

 private:
  Processes& processes_;
  const GroupWorld& world_;
  const Book& book_;
  RankSet stopped_{kRanks};
};

std::string to_string(const GroupWorld& world, const GroupStrike& strike) {
  return std::string(world.name) + ": " + (strike.signal == SIGKILL ? "kill" : "stop") + " rank " +
         std::to_string(strike.victim) + " at its " + name_of(strike.step) + " number " +
         std::to_string(strike.occurrence) +
         (strike.arrival == Arrival::early ? ", early" : ", late");
}

}  // namespace

Struck survive(const GroupWorld& world, const GroupStrike& strike) {
  SCOPED_TRACE(to_string(world, strike));
  Common<Book> book;
  Processes processes(world.ranks, [&](int rank) { live(world, strike, *book, rank); });
  Awakener awakener(processes, world, *book);
  processes.on_stop = [&](int rank) { awakener.stopped(rank); };
  processes.on_line = [&](int, const std::string&) { awakener.look(); };
  processes.on_end = [&](int rank) {
    // A rank that ends before it has joined is known to its launcher only.
    if (!book->ranks[rank].in_world) processes.meeting().gone(rank);
    awakener.look();
  };
  const std::vector<Ending> endings = processes.wait(20s);
  for (int rank = 0; rank < world.ranks; ++rank) {
    if ((book->killed >> rank & 1) != 0) {
      EXPECT_EQ(endings[rank].signal, SIGKILL);
      continue;
    }
    EXPECT_EQ(endings[rank].code, 0)
        << "rank " << rank << ", signal " << endings[rank].signal << ", said:\n"
        << endings[rank].said;
    EXPECT_EQ(book->ranks[rank].dead & ~book->killed, 0U) << "rank " << rank << " errs";
  }
  return {.struck = book->struck, .retried = book->retried};
}

}  // namespace syncopate::testing
