#include "fault/fault.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "support/common.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/world.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kSteps = 5;
/// More rounds than the others can make while the victim is stopped.
constexpr int kWindow = 18;
constexpr Duration kTimeout = 15s;

/// The rank that this process is, as its step hook sees it.
struct Self {
  const Strike* strike;
  FaultBook::Rank* mine;
  Target target;
  bool counting;
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

void on_step(Step at) {
  if (at == Step::park) self.target.mine().arrived = self.step + 1;
  if (self.depositing && after_deposit(at)) {
    self.mine->made = self.mine->begun.load();
    self.depositing = false;
  }
  self.target.on_step(at, self.counting);
}

/// Each deposit is a digit of its own in base 4, so that the sum over all rounds tells how often
/// each was counted.
void write_deposit(double* values, int rank, std::uint32_t number) {
  for (int e = 0; e < self.strike->elements; ++e) {
    values[e] = e % self.strike->ranks == rank ? std::ldexp(1.0, 2 * static_cast<int>(number)) : 0;
  }
}

void record(const Round<double>& round) {
  const Receipt receipt = round.receipt();
  const std::uint32_t index = self.mine->rounds;
  EXPECT_EQ(receipt.round, index + 1U) << "a round was skipped or came twice";
  ASSERT_LT(index, static_cast<std::uint32_t>(FaultBook::kRounds));
  FaultBook::Seen& seen = self.mine->seen[index];
  std::memcpy(seen.values, round.sum().data(), round.sum().size_bytes());
  for (const int rank : receipt.contributors.list()) seen.contributors |= 1U << rank;
  seen.weight = receipt.weight;
  seen.staleness = receipt.staleness;
  seen.last = receipt.last;
  ++self.mine->rounds;
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

void live(const Strike& strike, FaultBook& book, int rank) {
  self = {.strike = &strike,
          .mine = &book.ranks[rank],
          .target = Target(strike.blow, book.marks, rank, strike.ranks),
          .counting = !strike.finishing};
  board::step_hook = on_step;
  World world = World::from_environment();
  world.set_timeout(kTimeout);
  PartialAllreduce<double> rounds(
      world, strike.elements, {.trigger = strike.trigger, .scale = Scale::none, .window = kWindow});
  self.target.mine().in_world = true;
  for (self.step = 0; self.step < kSteps; ++self.step) {
    self.target.await_turn(self.step + 1);
    exchange(rounds, rank);
    self.target.mine().arrived = self.step + 1;
  }
  self.target.tell_through();
  self.counting = true;
  // In finish() the first to come must sleep, whatever the trigger.
  self.target.await_turn(self.step + 1);
  rounds.finish(record);
  self.target.note_the_dead(world);
  self.target.mine().leaving = true;
}

void check_rounds(const Strike& strike, const FaultBook& book, int witness) {
  for (int rank = 0; rank < strike.ranks; ++rank) {
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
    for (int e = 0; e < strike.elements; ++e) {
      const int rank = e % strike.ranks;
      EXPECT_EQ(seen.values[e], seen.values[rank]) << "round " << round + 1 << ", element " << e;
      EXPECT_EQ((seen.contributors >> rank & 1) != 0, seen.values[e] > 0) << "rank " << rank;
    }
  }
}

void check_conservation(const Strike& strike, const FaultBook& book, int witness) {
  double weight = 0;
  for (std::uint32_t round = 0; round < book.ranks[witness].rounds; ++round) {
    weight += book.ranks[witness].seen[round].weight;
  }
  for (int rank = 0; rank < strike.ranks; ++rank) {
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

std::string to_string(const Strike& strike) {
  return to_string(strike.blow) + ", " + std::to_string(strike.ranks) + " ranks" +
         (strike.finishing ? ", in finish()" : "") + ", trigger " + to_string(strike.trigger) +
         (strike.twice ? ", depositing twice" : "");
}

Struck survive(const Strike& strike) {
  SCOPED_TRACE(to_string(strike));
  Common<FaultBook> book;
  const Battle battle{.ranks = strike.ranks,
                      .nobody_waits = strike.trigger.kind == Trigger::Kind::first,
                      .told = strike.told};
  const Struck result =
      run_through(battle, strike.blow, book->marks, [&](int rank) { live(strike, *book, rank); });
  int witness = strike.ranks - 1;
  while (book->marks.was_killed(witness)) --witness;
  for (int rank = 0; rank < strike.ranks; ++rank) {
    if (book->marks.was_killed(rank)) continue;
    EXPECT_EQ(book->ranks[rank].rounds, book->ranks[witness].rounds) << "rank " << rank;
  }
  check_rounds(strike, *book, witness);
  check_conservation(strike, *book, witness);
  return result;
}

}  // namespace syncopate::testing
