// What all strategies that take local steps and average the weights of everyone have in common.
// The weights lie on the board; an average is an ordinary allreduce of them, weighted if asked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "strategy/registry.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/strategy.h"

namespace syncopate::strategy {

inline constexpr int kMostSteps = 1'000'000;

class Averaging : public Strategy {
 public:
  ~Averaging() override;
  void begin_step() override;
  void end_step(Duration computing) override;
  void hasten() override { hastens_ = true; }
  void stop() override;
  bool follow() override;
  void finish() override;
  void describe(StateFields& state) override;

  /// What a checkpoint keeps of any of these.
  struct Kept {
    std::uint64_t rounds = 0;
    std::uint64_t steps = 0;  ///< Since the last average.
    std::span<float> notes;
    void describe(StateFields& state);
  };

 protected:
  /// `extra` numbers are summed over the ranks with each average, beside the notes. `before`:
  /// rounds that there were before this strategy began.
  explicit Averaging(const Training& training, std::size_t extra = 0, std::uint64_t before = 0);

  /// After each step: `steps` have been taken since the last average.
  virtual bool due(std::uint64_t steps) = 0;
  /// How much this rank's weights count.
  virtual double weight() const { return 1; }
  /// Once, when this rank stops.
  virtual void stopping() {}
  virtual void give(std::span<float> /*extra*/) {}
  virtual void receive(std::span<const float> /*extra*/) {}

 private:
  /// Puts the weights on the board, and what goes beside them. Returns how much they count.
  double prepare();
  void average();
  /// Takes a round's result over, to `place`. Everyone reads the same one; from here on each rank's
  /// weights go their own way.
  void adopt(const Round<float>& round, float* place);
  void tell(const Receipt& receipt);

  Learner& learner_;
  int ranks_;
  PartialAllreduce<float> rounds_;
  std::vector<float> gradient_;
  std::size_t kept_notes_;       ///< The first so many are in a checkpoint.
  std::vector<float> gathered_;  ///< Notes since the last average, then the extra numbers.
  std::uint64_t steps_ = 0;      ///< Since the last average.
  bool hastens_ = false;
  bool stopped_ = false;
  std::vector<float> last_;  ///< Where the others' averages go once this rank has stopped.
  std::uint64_t before_;     ///< Averages of the runs that this one resumes.
  std::uint64_t seen_ = 0;
};

}  // namespace syncopate::strategy
