#include <algorithm>
#include <cmath>
#include <optional>

#include "round/step_times.h"
#include "strategy/biased_sampler.h"
#include "strategy/local.h"
#include "syncopate/allreduce.h"
#include "syncopate/error.h"

namespace syncopate::strategy {
namespace {

struct BiasedOptions {
  int steps = 0;  ///< Of the fastest rank between two averages.
  double alpha = 0;
  double ratio = 0;
  bool biased = true;
};

/// Every rank takes as many local steps as it can in the time in which the fastest takes its own.
class BiasedLocal final : public Averaging {
 public:
  BiasedLocal(const Training& training, const BiasedOptions& options)
      : Averaging(training, training.world.size()),
        options_(options),
        rank_(training.world.rank()),
        batch_(std::max<std::int64_t>(1, training.batch)),
        steps_of_(training.world.size(), 1) {
    if (options.biased && training.samples > 0) {
      sampler_.emplace(training.samples, options.ratio, training.seed, rank_);
      losses_.emplace(training.world, 2 * std::size_t(training.samples));
      begin_period();
    }
  }

  void end_step(Duration computing) override {
    times_.add(computing);
    Averaging::end_step(computing);
  }

  std::vector<std::int64_t> choose(std::size_t count) override {
    return sampler_ ? sampler_->next(count) : std::vector<std::int64_t>();
  }

  void note_losses(std::span<const std::int64_t> samples, std::span<const float> losses) override {
    if (sampler_) sampler_->note(samples, losses);
  }

  void describe(StateFields& state) override {
    Averaging::describe(state);
    std::vector<float> steps(steps_of_.begin(), steps_of_.end());
    state.by_rank("steps", steps, {1, double(options_.steps)});
    if (state.loading()) std::ranges::transform(steps, steps_of_.begin(), as_whole);
    if (!sampler_) return;
    auto taken = std::uint64_t(taken_);
    sampler_->describe(state);
    state.count("taken", Sharing::same, taken);
    if (!state.loading()) return;
    begin_period();
    taken_ = std::int64_t(taken);
  }

 private:
  static int as_whole(float steps) { return int(std::lround(steps)); }

  // Others may still take samples; no rank waits for our losses.
  void stopping() override {
    if (losses_) losses_->leave();
  }

  bool due(std::uint64_t steps) override { return steps >= std::uint64_t(steps_of_[rank_]); }

  double weight() const override { return std::pow(steps_of_[rank_], 1 - options_.alpha); }

  void give(std::span<float> extra) override {
    extra[rank_] = std::chrono::duration<float>(times_.typical()).count();
  }

  void receive(std::span<const float> times) override {
    for (const int steps : steps_of_) taken_ += steps * batch_;
    // A rank that died has said nothing.
    float fastest = 0;
    for (const float time : times) {
      if (time > 0 && (fastest == 0 || time < fastest)) fastest = time;
    }
    for (std::size_t rank = 0; rank < steps_of_.size(); ++rank) {
      if (times[rank] <= 0) continue;
      const double fits = options_.steps * double(fastest / times[rank]);
      steps_of_[rank] = std::clamp(int(std::lround(fits)), 1, options_.steps);
    }
    // When all ranks together have taken as many samples as there are. Counted, because speeds and
    // with them the steps per round may change.
    if (sampler_ && taken_ >= std::int64_t(sampler_->scores().size())) exchange_losses();
  }

  void exchange_losses() {
    sampler_->give({losses_->slot(), losses_->size()});
    const auto rounds = losses_->exchange();
    sampler_->merge(rounds.front().sum());
    begin_period();
  }

  void begin_period() {
    taken_ = 0;
    std::int64_t all_steps = 0;
    for (const int steps : steps_of_) all_steps += steps;
    const auto samples = std::int64_t(sampler_->scores().size());
    const std::int64_t rounds = (samples - 1) / (batch_ * all_steps) + 1;
    const int fastest = *std::max_element(steps_of_.begin(), steps_of_.end());
    sampler_->begin_period(std::size_t(rounds * steps_of_[rank_] * batch_),
                           steps_of_[rank_] < fastest);
  }

  BiasedOptions options_;
  int rank_;
  std::int64_t batch_;
  round::StepTimes times_;
  std::vector<int> steps_of_;  ///< Of each rank, between two averages.
  std::optional<BiasedSampler> sampler_;
  std::optional<Allreduce<float>> losses_;
  std::int64_t taken_ = 0;  ///< Samples in this period, by all ranks.
};

}  // namespace

const Entry& biased_local() {
  static const Entry entry{
      {.name = "biased-local",
       .summary = "local steps, more on faster ranks; slow ranks take the samples with high losses",
       .paper = "biased local SGD, arXiv 2508.08540",
       .parameters = {{.name = "H",
                       .standard = "16",
                       .meaning = "steps of the fastest rank between two averages",
                       .by_place = true},
                      {.name = "alpha",
                       .standard = "0.5",
                       .meaning = "how weights count in the average: 0 by the steps behind them, "
                                  "1 all alike"},
                      {.name = "sample-ratio",
                       .standard = "4",
                       .meaning = "candidates that a slow rank draws for each sample it takes"},
                      {.name = "biased",
                       .standard = "on",
                       .meaning = "off: samples are drawn alike on slow and fast ranks"}}},
      [](const Values& values, int) -> Maker {
        const BiasedOptions options{.steps = values.whole("H", 1, kMostSteps),
                                    .alpha = values.number("alpha", 0, 1),
                                    .ratio = values.number("sample-ratio", 1, 1000),
                                    .biased = values.on("biased")};
        return [options](const Training& training) {
          return std::make_unique<BiasedLocal>(training, options);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy
