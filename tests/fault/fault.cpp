#include "fault/fault.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <vector>

#include "syncopate/world.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kSteps = 5;
/// More rounds than the others can make while the victim is stopped.
constexpr int kWindow = 18;
/// Longer than the patience with a helper that holds a chunk, so that this path is taken too.
constexpr auto kStopped = 60ms;
/// Long enough for others to lose patience on a slow machine, too.
constexpr auto kStoppedForRetry = 3000ms;
constexpr Duration kTimeout = 15s;

/// The rank that this process is, as its step hook sees it.
struct Self {
  const Strike* strike;
  FaultBook* book;
  FaultBook::Rank* mine;
  int rank;
  bool victim;
  bool counting;
  int occurrences = 0;
  int step = 0;
  bool depositing = false;
};
Self self;

/// Steps that an exchange only comes to when its deposit is on the board.
bool after_deposit(Step at) {
  switch (at) {
    case Step::start:
    case Step::decide:
    case Step::claim:
    case Step::reduce:
    case Step::done:
    case Step::publish:
    case Step::advance:
    case Step::park:
    case Step::retry:
      return true;
    default:
      return false;
  }
}

void strike_with(int signal) {
  if (signal == SIGKILL) self.book->killed |= 1U << self.rank;
  kill(getpid(), signal);
}

void on_step(Step at) {
  if (at == Step::park) self.mine->arrived = self.step + 1;
  if (self.depositing && after_deposit(at)) {
    self.mine->made = self.mine->begun.load();
    self.depositing = false;
  }
  if (at == Step::retry && !self.book->retried.exchange(true) && self.strike->at_retry != 0) {
    strike_with(self.strike->at_retry);
  }
  if (!self.victim || !self.counting || at != self.strike->step) return;
  if (++self.occurrences != self.strike->occurrence) return;
  self.book->struck = true;
  strike_with(self.strike->signal);
}

/// Each deposit is a digit of its own in base 4, so that the sum over all rounds tells how often
/// each was counted.
void write_deposit(double* values, int rank, std::uint32_t number) {
  for (int e = 0; e < FaultBook::kElements; ++e) {
    values[e] = e % FaultBook::kRanks == rank ? std::ldexp(1.0, 2 * static_cast<int>(number)) : 0;
  }
}

void record(const Round<double>& round) {
  const Receipt receipt = round.receipt();
  const std::uint32_t index = self.mine->rounds;
  EXPECT_EQ(receipt.round, index + 1U) << "a round was skipped or came twice";
  ASSERT_LT(index, static_cast<std::uint32_t>(FaultBook::kRounds));
  FaultBook::Seen& seen = self.mine->seen[index];
  std::memcpy(seen.values, round.sum().data(), sizeof seen.values);
  for (const int rank : receipt.contributors.list()) seen.contributors |= 1U << rank;
  seen.weight = receipt.weight;
  seen.staleness = receipt.staleness;
  seen.last = receipt.last;
  ++self.mine->rounds;
}

/// Waits until it is this rank's turn to come. A victim that was struck is not waited for.
void await_turn(int rank) {
  const Strike& strike = *self.strike;
  FaultBook& book = *self.book;
  const auto late = [&](int other) {
    return !book.struck && book.ranks[other].arrived <= self.step;
  };
  for (int other = 0; other < FaultBook::kRanks; ++other) {
    const bool waits = strike.arrival == Arrival::early ? other == strike.victim : self.victim;
    while (other != rank && waits && late(other)) sched_yield();
  }
}

void deposit(PartialAllreduce<double>& rounds, int rank) {
  write_deposit(rounds.slot(), rank, self.mine->begun++);
  self.depositing = true;
  rounds.start();
  self.depositing = false;
  self.mine->made = self.mine->begun.load();
}

void exchange(PartialAllreduce<double>& rounds, int rank) {
  if (self.strike->twice) {
    deposit(rounds, rank);
    deposit(rounds, rank);
    for (const auto& round : rounds.wait()) record(round);
    return;
  }
  write_deposit(rounds.slot(), rank, self.mine->begun++);
  self.depositing = true;
  for (const auto& round : rounds.exchange()) record(round);
  self.depositing = false;
  self.mine->made = self.mine->begun.load();
}

/// A rank that can know of a kill waits until it does know of the death. One that was taking
/// down its world may be gone in good order.
void note_the_dead(const World& world) {
  std::uint64_t killed = 0;
  for (int rank = 0; rank < FaultBook::kRanks; ++rank) {
    if (!self.book->ranks[rank].leaving) killed |= self.book->killed & 1U << rank;
  }
  do {
    for (const int rank : world.dead().list()) self.mine->dead |= 1U << rank;
  } while ((self.mine->dead & killed) != killed);
}

void live(const Strike& strike, FaultBook& book, int rank) {
  self = {.strike = &strike,
          .book = &book,
          .mine = &book.ranks[rank],
          .rank = rank,
          .victim = rank == strike.victim,
          .counting = !strike.finishing};
  board::step_hook = on_step;
  World world = World::from_environment();
  world.set_timeout(kTimeout);
  PartialAllreduce<double> rounds(
      world, FaultBook::kElements,
      {.trigger = strike.trigger, .scale = Scale::none, .window = kWindow});
  self.mine->in_world = true;
  for (self.step = 0; self.step < kSteps; ++self.step) {
    await_turn(rank);
    exchange(rounds, rank);
    self.mine->arrived = self.step + 1;
  }
  self.mine->through = true;
  std::puts("through");
  std::fflush(stdout);
  self.counting = true;
  await_turn(rank);  // In finish() the first to come must sleep, whatever the trigger.
  rounds.finish(record);
  note_the_dead(world);
  self.mine->leaving = true;
}

/// Lets stopped ranks go on. Where nobody has to wait for them, that is when the others have got
/// through without them; where they do wait, after a time.
class Awakener {
 public:
  Awakener(Processes& processes, const Strike& strike, const FaultBook& book)
      : processes_(processes), strike_(strike), book_(book) {}

  void stopped(int rank) {
    stopped_.insert(rank);
    const bool nobody_waits =
        strike_.trigger.kind == Trigger::Kind::first && book_.ranks[rank].in_world;
    if (nobody_waits) return look();
    // A victim whose chunk is to be given up sleeps until that has happened.
    const bool for_retry = strike_.at_retry != 0 && rank == strike_.victim;
    processes_.after(for_retry ? kStoppedForRetry : kStopped,
                     [this, rank] { processes_.send(rank, SIGCONT); });
    if (strike_.at_retry != 0 && !for_retry) wake_all_later();
  }

  void ended() {
    if (book_.retried && strike_.at_retry == SIGKILL) wake_all_later();
    look();
  }

  /// Called when a rank got through or ended.
  void look() {
    for (int rank = 0; rank < FaultBook::kRanks; ++rank) {
      const bool gone = (book_.killed >> rank & 1) != 0;
      if (!gone && !stopped_.contains(rank) && !book_.ranks[rank].through) return;
    }
    wake_all();
  }

 private:
  void wake_all() {
    for (const int rank : stopped_.list()) processes_.send(rank, SIGCONT);
  }
  void wake_all_later() {
    processes_.after(kStopped, [this] { wake_all(); });
  }

  Processes& processes_;
  const Strike& strike_;
  const FaultBook& book_;
  RankSet stopped_{FaultBook::kRanks};
};

void check_rounds(const FaultBook& book, int witness) {
  for (int rank = 0; rank < FaultBook::kRanks; ++rank) {
    ASSERT_LE(book.ranks[rank].rounds, book.ranks[witness].rounds) << "rank " << rank;
    for (std::uint32_t round = 0; round < book.ranks[rank].rounds; ++round) {
      EXPECT_EQ(std::memcmp(&book.ranks[rank].seen[round], &book.ranks[witness].seen[round],
                            sizeof(FaultBook::Seen)),
                0)
          << "rank " << rank << " and rank " << witness << " differ in round " << round + 1;
    }
  }
  for (std::uint32_t round = 0; round < book.ranks[witness].rounds; ++round) {
    const FaultBook::Seen& seen = book.ranks[witness].seen[round];
    EXPECT_LE(seen.staleness, static_cast<std::uint64_t>(kWindow));
    EXPECT_EQ(seen.last, round + 1 == book.ranks[witness].rounds);
    for (int e = 0; e < FaultBook::kElements; ++e) {
      const int rank = e % FaultBook::kRanks;
      EXPECT_EQ(seen.values[e], seen.values[rank]) << "round " << round + 1 << ", element " << e;
      EXPECT_EQ((seen.contributors >> rank & 1) != 0, seen.values[e] > 0) << "rank " << rank;
    }
  }
}

void check_conservation(const FaultBook& book, int witness) {
  double weight = 0;
  for (std::uint32_t round = 0; round < book.ranks[witness].rounds; ++round) {
    weight += book.ranks[witness].seen[round].weight;
  }
  for (int rank = 0; rank < FaultBook::kRanks; ++rank) {
    std::array<int, 32> counted{};
    for (std::uint32_t round = 0; round < book.ranks[witness].rounds; ++round) {
      auto sum = static_cast<std::uint64_t>(book.ranks[witness].seen[round].values[rank]);
      for (int digit = 0; sum > 0; sum >>= 2) counted[digit++] += sum & 3;
    }
    for (std::uint32_t i = 0; i < counted.size(); ++i) {
      const int most = i < book.ranks[rank].begun ? 1 : 0;
      const int least = i < book.ranks[rank].made ? 1 : 0;
      EXPECT_LE(counted[i], most) << "deposit " << i << " of rank " << rank;
      EXPECT_GE(counted[i], least) << "deposit " << i << " of rank " << rank;
      weight -= counted[i];
    }
  }
  EXPECT_EQ(weight, 0) << "the weights are not those of the deposits in the sums";
}

}  // namespace

const char* name_of(Step step) {
  constexpr std::array kNames = {"read",   "write", "replace", "deposit", "merge",   "start",
                                 "decide", "claim", "reduce",  "done",    "publish", "advance",
                                 "wake",   "park",  "release", "retry",   "join",    "agree"};
  return kNames[static_cast<std::size_t>(step)];
}

std::string to_string(const Strike& strike) {
  return std::string(strike.signal == SIGKILL ? "kill" : "stop") + " rank " +
         std::to_string(strike.victim) + " at its " + name_of(strike.step) + " number " +
         std::to_string(strike.occurrence) + (strike.finishing ? " in finish()" : "") +
         ", trigger " + to_string(strike.trigger) +
         (strike.arrival == Arrival::early ? ", early" : ", late") +
         (strike.twice ? ", depositing twice" : "");
}

Struck survive(const Strike& strike) {
  SCOPED_TRACE(to_string(strike));
  Common<FaultBook> book;
  Processes processes(FaultBook::kRanks, [&](int rank) { live(strike, *book, rank); });
  Awakener awakener(processes, strike, *book);
  processes.on_stop = [&](int rank) { awakener.stopped(rank); };
  processes.on_line = [&](int, const std::string&) { awakener.look(); };
  processes.on_end = [&](int rank) {
    // A rank that ends before it has joined is known to its launcher only.
    if (strike.told || !book->ranks[rank].in_world) processes.meeting().gone(rank);
    awakener.ended();
  };
  const std::vector<Ending> endings = processes.wait(20s);
  int witness = FaultBook::kRanks - 1;
  while ((book->killed >> witness & 1) != 0) --witness;
  for (int rank = 0; rank < FaultBook::kRanks; ++rank) {
    if ((book->killed >> rank & 1) != 0) {
      EXPECT_EQ(endings[rank].signal, SIGKILL);
      continue;
    }
    EXPECT_EQ(endings[rank].code, 0)
        << "rank " << rank << ", signal " << endings[rank].signal << ", said:\n"
        << endings[rank].said;
    EXPECT_EQ(book->ranks[rank].dead & ~book->killed, 0U) << "rank " << rank << " errs";
    EXPECT_EQ(book->ranks[rank].rounds, book->ranks[witness].rounds) << "rank " << rank;
  }
  check_rounds(*book, witness);
  check_conservation(*book, witness);
  return {.struck = book->struck, .retried = book->retried};
}

}  // namespace syncopate::testing
