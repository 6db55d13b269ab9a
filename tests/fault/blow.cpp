#include "fault/blow.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <vector>

#include "support/processes.h"
#include "support/step_name.h"

namespace syncopate::testing {
namespace {

using namespace std::chrono_literals;
using board::Step;

/// Longer than the patience with a helper that holds a chunk, so that this path is taken too.
constexpr auto kStopped = 60ms;
/// Long enough for others to lose patience on a slow machine, too.
constexpr auto kStoppedForRetry = 3000ms;

/// Lets stopped ranks go on. Where no rank has to wait for them, that is when the others have got
/// through without them; where they do wait, after a time.
class Awakener {
 public:
  Awakener(Processes& processes, const Battle& battle, const Blow& blow, const Marks& marks)
      : processes_(processes), battle_(battle), blow_(blow), marks_(marks) {}

  void stopped(int rank) {
    stopped_.insert(rank);
    if (battle_.nobody_waits && marks_.ranks[rank].in_world) return look();
    // A victim whose chunk is to be given up sleeps until that has happened.
    const bool for_retry = blow_.at_retry != 0 && rank == blow_.victim;
    processes_.after(for_retry ? kStoppedForRetry : kStopped,
                     [this, rank] { processes_.send(rank, SIGCONT); });
    if (blow_.at_retry != 0 && !for_retry) wake_all_later();
  }

  void ended() {
    if (marks_.retried && blow_.at_retry == SIGKILL) wake_all_later();
    look();
  }

  /// Called when a rank got through or ended.
  void look() {
    for (int rank = 0; rank < battle_.ranks; ++rank) {
      const bool through = marks_.ranks[rank].through;
      if (!marks_.was_killed(rank) && !stopped_.contains(rank) && !through) return;
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
  const Battle& battle_;
  const Blow& blow_;
  const Marks& marks_;
  RankSet stopped_{Marks::kMostRanks};
};

}  // namespace

std::string to_string(const Blow& blow) {
  return std::string(blow.signal == SIGKILL ? "kill" : "stop") + " rank " +
         std::to_string(blow.victim) + " at its " + to_string(blow.step) + " number " +
         std::to_string(blow.occurrence) + (blow.arrival == Arrival::early ? ", early" : ", late");
}

void Target::strike_with(int signal) const {
  if (signal == SIGKILL) marks_->killed |= 1U << rank_;
  kill(getpid(), signal);
}

void Target::on_step(Step at, bool counting) {
  if (at == Step::retry && !marks_->retried.exchange(true) && blow_->at_retry != 0) {
    strike_with(blow_->at_retry);
  }
  if (!is_victim() || !counting || at != blow_->step) return;
  if (++occurrences_ != blow_->occurrence) return;
  marks_->struck = true;
  strike_with(blow_->signal);
}

void Target::await_turn(int number) const {
  for (int other = 0; other < ranks_; ++other) {
    const bool waits = blow_->arrival == Arrival::early ? other == blow_->victim : is_victim();
    if (other == rank_ || !waits) continue;
    while (!marks_->struck && marks_->ranks[other].arrived < number) sched_yield();
  }
}

void Target::tell_through() const {
  mine().through = true;
  std::puts("through");
  std::fflush(stdout);
}

void Target::note_the_dead(const World& world) const {
  std::uint64_t killed = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!marks_->ranks[rank].leaving) killed |= marks_->killed & 1U << rank;
  }
  do {
    for (const int rank : world.dead().list()) mine().dead |= 1U << rank;
  } while ((mine().dead & killed) != killed);
}

Struck run_through(const Battle& battle, const Blow& blow, Marks& marks,
                   const std::function<void(int rank)>& body) {
  Processes processes(battle.ranks, body);
  Awakener awakener(processes, battle, blow, marks);
  processes.on_stop = [&](int rank) { awakener.stopped(rank); };
  processes.on_line = [&](int, const std::string&) { awakener.look(); };
  processes.on_end = [&](int rank) {
    // A rank that ends before it has joined is known to its launcher only.
    if (battle.told || !marks.ranks[rank].in_world) processes.meeting().gone(rank);
    awakener.ended();
  };
  const std::vector<Ending> endings = processes.wait(20s);
  for (int rank = 0; rank < battle.ranks; ++rank) {
    if (marks.was_killed(rank)) {
      EXPECT_EQ(endings[rank].signal, SIGKILL);
      continue;
    }
    EXPECT_EQ(endings[rank].code, 0)
        << "rank " << rank << ", signal " << endings[rank].signal << ", said:\n"
        << endings[rank].said;
    EXPECT_EQ(marks.ranks[rank].dead & ~marks.killed, 0U) << "rank " << rank << " errs";
  }
  return {.struck = marks.struck, .retried = marks.retried};
}

}  // namespace syncopate::testing
