// A training loop of the program's own that keeps replicas equal: a strategy around a Learner, and
// what else ranks have to agree on. Ranks see rounds at different times, so nothing that must be
// the same on all of them may follow a rank's own steps: here it follows the rounds.
//
//   TrainingLoop loop(world, learner, "eager-majority");
//   loop.every(500, [&] { if (world.rank() == 0) save(loop.save()); });
//   while (!loop.stopped()) {
//     loop.begin_step();
//     …compute the gradient where the learner was told to…
//     loop.end_step(computing);
//   }
//   loop.finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "syncopate/policy.h"
#include "syncopate/strategy.h"
#include "syncopate/strategy_state.h"
#include "syncopate/world.h"

namespace syncopate {

struct LoopOptions {
  std::uint64_t seed = 1;    ///< For draws that all ranks make alike.
  std::int64_t samples = 0;  ///< In the training set; for strategies that choose samples.
  std::int64_t batch = 0;    ///< Per rank and step.
};

class TrainingLoop {
 public:
  /// Made by every rank with the same arguments. All ranks start with rank 0's weights. The learner
  /// must outlive this.
  TrainingLoop(const World& world, Learner& learner, std::string_view strategy,
               const LoopOptions& options = {});
  ~TrainingLoop();
  TrainingLoop(const TrainingLoop&) = delete;
  TrainingLoop& operator=(const TrainingLoop&) = delete;

  void begin_step();
  /// Exchanges, applies what there is to apply, and holds the meeting that is due.
  void end_step(Duration computing);
  Strategy& strategy();

  /// A schedule, of learning rates say, counts calls of advance(): once per step, per epoch or as
  /// the program likes. It stands where the ranks' calls are in the mean, as far as rounds have
  /// told of them, so that a round is applied at the same rate on every rank. `move` is called for
  /// each step forward that it makes, with the mean of what the calls were given. At most
  /// kSchedules, all added before the first step or in a meeting, in the same order on every rank.
  using Move = std::function<void(double value)>;
  static constexpr std::size_t kSchedules = 8;
  std::size_t add_schedule(Move move);
  void advance(std::size_t schedule);
  /// With a value that ranks measure, such as a validation loss.
  void advance(std::size_t schedule, double value);

  /// Calls `meeting` on all ranks after the same round, about every so many rounds: when the ranks
  /// have agreed that their replicas are equal. There a program may wait for all ranks, evaluate
  /// and save. A rank that has ended its loop takes part, in finish().
  void every(std::uint64_t rounds, std::function<void()> meeting);

  /// This rank asks to end: all ranks find stopped() true after the same round, or at the end of
  /// the meeting in which it was called.
  void stop();
  bool stopped() const;
  /// Exchanges so far on which all ranks agreed, with those of the runs that this one goes on from.
  std::uint64_t rounds() const;

  /// Follows the others until all ranks have ended. Throws Error(mismatch) if the replicas are not
  /// equal then, bit for bit.
  void finish();

  /// What all ranks had under way when the meeting began, the same on every rank, for a checkpoint.
  /// Only in a meeting, before the first step, or after finish().
  StrategyState save() const;
  /// Goes on from what was saved by any number of ranks; before the first step, all ranks together.
  /// Throws as Strategy::load() does.
  void load(const StrategyState& state);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace syncopate
