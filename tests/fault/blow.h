// Strikes one rank with a signal at a chosen step of the protocol. Ranks are processes on the
// stepped library; the hook in the victim counts its steps and raises the signal on itself, so
// every case is exactly as it says.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "board/step.h"
#include "syncopate/world.h"

namespace syncopate::testing {

/// When the victim comes, compared with the others. It decides which roles it plays: who comes
/// first waits and helps; who comes last starts the round, or finds it done.
enum class Arrival { early, late };

struct Blow {
  board::Step step;
  int occurrence = 1;  ///< At which of the victim's steps of this kind.
  int signal = 0;      ///< SIGKILL or SIGSTOP.
  Arrival arrival = Arrival::early;
  int victim = 1;
  int at_retry = 0;  ///< A signal for the rank that first gives up on the victim's chunk.
};

std::string to_string(const Blow& blow);

/// What the ranks tell each other and the test, in memory that survives them.
struct Marks {
  static constexpr int kMostRanks = 4;
  struct Rank {
    std::atomic<int> arrived;         ///< Steps in which it has slept or returned.
    std::atomic<bool> in_world;       ///< Has made its collective.
    std::atomic<bool> through;        ///< Has made all its steps.
    std::atomic<bool> leaving;        ///< Is done and takes down its world.
    std::atomic<std::uint64_t> dead;  ///< Whom it knows to be dead, at the end.
  };
  std::atomic<bool> struck;           ///< The victim came to the step.
  std::atomic<bool> retried;          ///< A rank gave up on a chunk of the victim's.
  std::atomic<std::uint64_t> killed;  ///< Ranks that were struck with SIGKILL.
  Rank ranks[kMostRanks];

  bool was_killed(int rank) const { return (killed >> rank & 1) != 0; }
};

/// One of the ranks, in its own process.
class Target {
 public:
  Target() = default;
  Target(const Blow& blow, Marks& marks, int rank, int ranks)
      : blow_(&blow), marks_(&marks), rank_(rank), ranks_(ranks) {}

  bool is_victim() const { return rank_ == blow_->victim; }
  Marks::Rank& mine() const { return marks_->ranks[rank_]; }

  /// To be called by the hook.
  void on_step(board::Step at, bool counting = true);
  /// Waits until it is this rank's turn to come to training step `number`. A victim that was
  /// struck is not waited for.
  void await_turn(int number) const;
  /// Tells the test that all steps are made.
  void tell_through() const;
  /// A rank that can know of a kill waits until it does know of the death. One that was taking
  /// down its world may be gone in good order.
  void note_the_dead(const World& world) const;

 private:
  void strike_with(int signal) const;

  const Blow* blow_ = nullptr;
  Marks* marks_ = nullptr;
  int rank_ = 0;
  int ranks_ = 0;
  int occurrences_ = 0;
};

struct Struck {
  bool struck = false;   ///< The victim came to the step at all.
  bool retried = false;  ///< … and another rank gave up on its chunk.
};

struct Battle {
  int ranks;
  bool nobody_waits = false;  ///< For a rank that is stopped, in any of its steps.
  bool told = false;          ///< The launcher notes the death, as `syncopate run` does.
};

/// Runs `body(rank)` in a process per rank, lets those go on who are stopped, and checks that all
/// end as they should and call no rank dead that is not.
Struck run_through(const Battle& battle, const Blow& blow, Marks& marks,
                   const std::function<void(int rank)>& body);

/// Goes through both arrivals until `hits` is above 0, for who comes to a step is up to the
/// operating system; gives up after a while, and at the first failure.
template <class GoThrough>
void until_hit(const int& hits, const GoThrough& go_through) {
  constexpr int kMostTimes = 10;
  for (int times = 0; times < kMostTimes && hits == 0; ++times) {
    for (const Arrival arrival : {Arrival::early, Arrival::late}) {
      if (::testing::Test::HasFailure()) return;
      go_through(arrival);
    }
  }
}

}  // namespace syncopate::testing
