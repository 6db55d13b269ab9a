// What all strategies that exchange gradients have in common: each step's gradient is written to
// the board, and every round's mean is one step of the optimizer, the same on every rank. They
// differ in when a round starts and what becomes of late gradients.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "strategy/registry.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/strategy.h"

namespace syncopate::strategy {

struct GradientOptions {
  PartialOptions rounds;
  bool anticipate = false;
  double ahead = 0;  ///< Steps that gradients are computed ahead, beside those anticipated.
  bool momentum_by_mass = false;
  int whole = 0;  ///< Gradients that make a whole step; 0: one of each rank.
};

/// The parameters of gradient strategies, with what they are unless the user says otherwise.
ParameterDescription grace_parameter(const char* standard);
ParameterDescription ahead_parameter(const char* standard);
ParameterDescription momentum_by_mass_parameter(const char* standard);
ParameterDescription window_parameter(const char* standard);
double read_ahead(const Values& values);
int read_window(const Values& values);
/// Those of every strategy that carries late gradients: its own first, then these.
std::vector<ParameterDescription> with_eager_parameters(std::vector<ParameterDescription> own);
/// Their values; the trigger is left to the strategy.
GradientOptions read_eager_options(const Values& values);

class Gradients : public Strategy {
 public:
  Gradients(const Training& training, const GradientOptions& options);

  void begin_step() override;
  void end_step(Duration computing) override;
  void stop() override;
  bool follow() override;
  void finish() override;
  void describe(StateFields& state) override;
  /// So far, with those of the runs that this one resumes.
  std::uint64_t rounds() const { return before_ + seen_; }

 protected:
  int ranks() const { return ranks_; }
  /// Once, when this rank stops.
  virtual void stopping() {}
  /// After each round.
  virtual void applied(const Receipt& /*receipt*/) {}

 private:
  void apply(const Round<float>& round);
  void note_lags(double stepped, long taken);
  void describe_carried(StateFields& state);

  Learner& learner_;
  int rank_;
  int ranks_;
  GradientOptions options_;
  PartialAllreduce<float> rounds_;
  std::uint64_t before_ = 0;  ///< Rounds of the runs that this one resumes.
  std::uint64_t seen_ = 0;    ///< The last round that was applied.
  std::vector<float> sums_;   ///< Of the notes, over ranks.
  bool stopped_ = false;

  std::size_t unsaved_notes_;
  // To anticipate. A round does not say which of our gradients it took, and by the time we see it
  // there may be newer ones on the board: so each rank counts its own in a place of the vector.
  std::size_t counts_;        ///< Where they begin.
  double stepped_ = 0;        ///< The mass of all steps so far.
  std::deque<double> bases_;  ///< What that was when those not taken were computed.
  double lag_ = 0;            ///< The mass that is stepped before ours is taken, a running mean.
};

}  // namespace syncopate::strategy
