#include "fault/group_fault.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "round/groups.h"
#include "support/common.h"
#include "support/group_merge.h"
#include "syncopate/world.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

constexpr int kRanks = Marks::kMostRanks;
constexpr int kSteps = 5;
constexpr std::size_t kElements = 7;  ///< Four chunks in the stepped library.
constexpr int kBase = 16;
constexpr Duration kTimeout = 15s;

/// What the ranks tell each other and the test, in memory that survives them.
struct Book {
  Marks marks;
  /// Per step and smallest member of the group: which publications were in the sum.
  std::atomic<std::uint64_t> used[kSteps + 1][kRanks];
};

/// The rank that this process is, as its step hook sees it.
struct Self {
  const GroupWorld* world;
  const Blow* blow;
  Book* book;
  int rank;
  Target target;
  GroupMerge<double> merge;
  int step = 0;
  bool averaging = false;
};
Self self;

/// A victim that comes last would start the round, but those it wakes may be faster: they leave
/// the round to it until it is struck or through.
void leave_the_start_to_a_late_victim() {
  if (self.target.is_victim() || self.blow->arrival == Arrival::early) return;
  if (self.world->options.trigger.kind != Trigger::Kind::all) return;
  const Marks& marks = self.book->marks;
  while (!marks.struck && marks.ranks[self.blow->victim].arrived <= self.step) sched_yield();
}

void on_step(Step at) {
  if (at == Step::start) leave_the_start_to_a_late_victim();
  if (at == Step::park && self.averaging) self.target.mine().arrived = self.step + 1;
  self.target.on_step(at);
}

/// A digit per rank that tells the step, another one in each element.
double digit(int step, std::size_t element) {
  return 1 + (step + 5 * static_cast<int>(element)) % (kBase - 3);
}

double value(int rank, int step, std::size_t element) {
  return digit(step, element) * std::pow(kBase, rank);
}

std::vector<int> members_at(int step, bool everyone) {
  const GroupOptions& options = self.world->options;
  std::vector<int> members =
      round::GroupSchedule(self.world->ranks, options.group_size, options.rotate, options.seed)
          .members(step - 1, self.rank);
  if (everyone) {
    members.clear();
    for (int rank = 0; rank < self.world->ranks; ++rank) members.push_back(rank);
  }
  return members;
}

/// What a sum has of its members.
struct Used {
  std::uint64_t print = 1;  ///< Of which publications.
  std::uint64_t staleness = 0;
  std::vector<double> total = std::vector<double>(kElements);
};

/// Of the members' publications, told from the first element of the sum.
Used what_was_used(const GroupReceipt& receipt, const std::vector<int>& members, int step,
                   double sum) {
  Used result;
  for (const int member : members) {
    result.print *= 1000003;
    if (!receipt.members.contains(member)) {
      EXPECT_TRUE(receipt.dead.contains(member) || self.book->marks.ranks[member].leaving)
          << "rank " << member << " was left out of step " << step << " and is not named";
      continue;
    }
    const double found = std::fmod(std::floor(sum / std::pow(kBase, member)), kBase);
    int used = step;
    // Before its first publication every rank has the same initial weights: zeros but for a
    // digit of their own above all others.
    while (used > 0 && digit(used, 0) != found) --used;
    if (member == self.rank) {
      EXPECT_EQ(used == step, receipt.included);
      EXPECT_EQ(std::uint64_t(step - used), receipt.own_staleness);
    }
    result.staleness = std::max<std::uint64_t>(result.staleness, step - used);
    result.print += used + 1;
    for (std::size_t e = 0; e < kElements; ++e) {
      result.total[e] += used > 0 ? value(member, used, e) : std::pow(kBase, kRanks);
    }
  }
  return result;
}

void check(const GroupReceipt& receipt, const double* weights) {
  const int step = self.step + 1;
  EXPECT_EQ(receipt.step, static_cast<std::uint64_t>(step));
  const std::vector<int> members = members_at(step, receipt.everyone);
  const double count = receipt.members.size();
  const int lag = receipt.included || receipt.own_staleness > 0 ? int(receipt.own_staleness) : -1;
  std::vector<double> own(kElements);
  for (std::size_t e = 0; e < kElements; ++e) own[e] = value(self.rank, step, e);
  const double sum = std::round(self.merge.sum_behind(weights[0], step, lag, count, 0, own[0]));
  Used used = what_was_used(receipt, members, step, sum);
  EXPECT_EQ(receipt.staleness, used.staleness);
  EXPECT_LE(receipt.staleness, static_cast<std::uint64_t>(self.world->options.window));
  for (double& value : used.total) value *= 1 / count;
  const std::span<const double> after(weights, kElements);
  EXPECT_TRUE(std::ranges::equal(after, self.merge.weights(step, lag, count, used.total, own)))
      << "step " << step;
  self.merge.follow(step, own, after);
  std::uint64_t known = 0;
  if (!self.book->used[step][members.front()].compare_exchange_strong(known, used.print)) {
    EXPECT_EQ(known, used.print) << "two members differ about step " << step;
  }
}

void live(const GroupWorld& of, const Blow& blow, Book& book, int rank) {
  self = {.world = &of,
          .blow = &blow,
          .book = &book,
          .rank = rank,
          .target = Target(blow, book.marks, rank, of.ranks)};
  board::step_hook = on_step;
  World world = World::from_environment();
  world.set_timeout(kTimeout);
  const std::vector<double> initial(kElements, std::pow(kBase, kRanks));
  GroupAverage<double> average(world, initial, of.options);
  self.merge = {of.options.late, initial};
  self.target.mine().in_world = true;
  for (self.step = 0; self.step < kSteps; ++self.step) {
    self.target.await_turn(self.step + 1);
    double* weights = average.weights();
    for (std::size_t e = 0; e < kElements; ++e) weights[e] = value(rank, self.step + 1, e);
    self.averaging = true;
    const GroupReceipt receipt = average.average();
    self.averaging = false;
    check(receipt, average.weights());
    self.target.mine().arrived = self.step + 1;
  }
  self.target.tell_through();
  self.target.note_the_dead(world);
  self.target.mine().leaving = true;
}

}  // namespace

Struck survive(const GroupWorld& world, const Blow& blow) {
  SCOPED_TRACE(std::string(world.name) + ": " + to_string(blow));
  Common<Book> book;
  return run_through({.ranks = world.ranks, .nobody_waits = world.nobody_waits}, blow, book->marks,
                     [&](int rank) { live(world, blow, *book, rank); });
}

}  // namespace syncopate::testing
