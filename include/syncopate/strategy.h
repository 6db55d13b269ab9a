// How ranks train together: what they exchange, among whom, when, and what becomes of late work.
// A strategy is made by name ("sync", "eager-majority", "wagma:4:10", "eager-solo:window=16"),
// knows nothing of any framework, and drives a Learner: the model and optimizer of one rank.
//
//   while (training) {
//     strategy->begin_step();
//     …compute the gradient where the learner was told to…
//     strategy->end_step();
//   }
//   strategy->finish();
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syncopate/policy.h"
#include "syncopate/strategy_state.h"
#include "syncopate/world.h"

namespace syncopate {

/// What an exchange tells the learner. Every rank is told of the same agreed exchanges in the same
/// order, with the same numbers in the first block.
struct Exchange {
  std::uint64_t number = 0;      ///< 1, 2, 3 …
  bool agreed = false;           ///< All replicas that have come this far are equal.
  std::span<const float> notes;  ///< The ranks' notes, summed; empty unless agreed.
  int contributors = 0;          ///< Ranks that had something in it.
  double mass = 0;               ///< Gradients in it, over the number of ranks.
  std::uint64_t staleness = 0;   ///< The largest among the contributions.
  std::uint64_t dropped = 0;     ///< Gradients that were reported as dropped.

  bool included = false;  ///< Whether this rank's work was in it.
  Duration waited{0};     ///< How long this rank waited for it,
  int waited_for = -1;    ///< and for whom; -1: for none.
};

/// One rank's model and optimizer, as a strategy sees them: `size()` weights in one vector.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual std::size_t size() const = 0;
  virtual void read_weights(std::span<float> into) const = 0;

  /// The weights are at `place` from now on, and are changed there. Null: back to memory of the
  /// learner's own, with the values they have.
  virtual void keep_weights_at(float* place) = 0;
  /// The gradient of the coming step goes to `place`.
  virtual void write_gradient_to(float* place) = 0;
  /// A learner that computes on another device brings what it has to the places given above.
  virtual void flush_weights() {}
  virtual void flush_gradient() {}

  /// The ranks' notes of an agreed exchange, summed; before its result is applied.
  virtual void noted(std::span<const float> /*notes*/) {}
  /// Steps the optimizer. A gradient of mass 1 is a whole step; with less it is part of one, and
  /// momentum decays by as much less. Must not write to `gradient`.
  virtual void step(std::span<const float> gradient, double mass) = 0;
  /// The next gradient is computed at the weights that are expected once gradients of this mass
  /// have been stepped: those there are, and what the last step() changed in proportion to its
  /// own mass. Until the next step().
  virtual void anticipate(double mass) = 0;
  /// Whether steps go on in the direction of those before them by so much that gradients are
  /// better computed further ahead.
  virtual bool has_momentum() const { return false; }
  /// The model computes at its own weights again, not at those that were anticipated.
  virtual void settle() {}

  /// Called after each exchange, when its result has been applied.
  virtual void exchanged(const Exchange& /*exchange*/) {}
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  /// Before the gradient of a step is computed.
  virtual void begin_step() = 0;
  /// In how many parts a step is computed; after each, whether to stop there.
  virtual int parts() const { return 1; }
  virtual bool enough(Duration /*computing*/) { return false; }
  /// When the gradient is there: exchanges, and returns when this rank may go on. `computing` is
  /// how long the step took.
  virtual void end_step(Duration computing) = 0;

  /// This rank wants to end: the coming end_step() exchanges though it may not be time yet.
  virtual void hasten() {}

  /// Numbers that travel with this rank's work and are summed over ranks; written before
  /// end_step(). The learner gets the sums in Exchange::notes.
  std::span<float> notes() { return notes_; }

  /// Which samples this rank takes next; empty if the strategy does not choose.
  virtual std::vector<std::int64_t> choose(std::size_t /*count*/) { return {}; }
  /// The losses of samples that were computed.
  virtual void note_losses(std::span<const std::int64_t> /*samples*/,
                           std::span<const float> /*losses*/) {}

  /// This rank takes no more steps; the others may.
  virtual void stop() = 0;
  /// After stop(): waits for what the others exchange, and applies it. Returns whether there may be
  /// more of it.
  virtual bool follow() = 0;
  /// All ranks end together: what was carried is applied, the weights are equal everywhere, and
  /// back in the learner's own memory. It stops and follows to the end, unless that was done.
  virtual void finish() = 0;

  /// What describe() names, for a checkpoint. Only while no rank is between begin_step() and
  /// end_step().
  StrategyState save();
  /// Goes on from what was saved; all ranks together. Throws Error(invalid_argument) for a state
  /// that is not what is due, down to every length and range, before anything is changed.
  void load(const StrategyState& state);
  /// The same without loading it: whether load() would throw.
  void check(const StrategyState& state);

  /// Names all that a checkpoint keeps of this strategy (strategy_state.h), above all what is
  /// pending: what it does not name is lost when a run is resumed.
  virtual void describe(StateFields& state) = 0;

 protected:
  std::vector<float> notes_;
};

/// With which weights ranks start.
enum class Start : std::uint8_t {
  from_first,   ///< All with those of the first rank.
  as_they_are,  ///< Each with those it has, as when a run is resumed.
};

/// What a strategy is made for.
struct Training {
  World world;
  Learner& learner;
  Start start = Start::from_first;
  std::size_t notes = 0;  ///< Numbers that travel with each step.
  /// The last so many of them, such as a vote to stop, are in no checkpoint.
  std::size_t unsaved_notes = 0;
  std::int64_t samples = 0;  ///< In the training set; 0: not known.
  std::int64_t batch = 0;    ///< Samples per step of a rank; 0: not known.
  std::uint64_t seed = 1;    ///< The same on every rank.
};

/// Makes the strategy that `text` names; all ranks together, with the same arguments. Throws
/// Error(invalid_argument) with what is allowed, before anything starts.
std::unique_ptr<Strategy> make_strategy(std::string_view text, const Training& training);

/// Checks a strategy's name and parameters for so many ranks, as make_strategy() would.
void check_strategy(std::string_view text, int ranks);

/// The strategy with all its parameters, also those that `text` leaves out: what a run is to be
/// resumed with, for defaults may change.
std::string spell_out_strategy(std::string_view text);

struct ParameterDescription {
  std::string name;
  std::string standard;  ///< What it is if not given; empty: it must be given.
  std::string meaning;
  bool by_place = false;  ///< Written as a value alone, in the order of the list.
};

struct StrategyDescription {
  std::string name;
  std::string summary;
  std::string paper;
  std::vector<ParameterDescription> parameters;
};

/// All strategies, in the order to show them.
std::vector<StrategyDescription> strategies();

}  // namespace syncopate
