#include "strategy/gradients.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/options.h"

namespace syncopate::strategy {
namespace {

/// Further, and gradients are those of another model.
constexpr double kFarthest = 20;
/// How much the newest observation counts in the running mean of the lag.
constexpr double kNewest = 0.2;
/// More gradients than any rank leaves on the board, even as the heir of many.
constexpr double kMostCarried = 1e6;

}  // namespace

ParameterDescription grace_parameter(const char* standard) {
  return {.name = "grace",
          .standard = standard,
          .meaning =
              "how long a round stays open for the others: auto, off, a share of the median "
              "step time such as 0.2, or a duration"};
}

ParameterDescription ahead_parameter(const char* standard) {
  return {.name = "ahead",
          .standard = standard,
          .meaning =
              "steps like the last one that gradients are computed further ahead, for "
              "momentum goes on that way: with several ranks and SGD with momentum"};
}

ParameterDescription momentum_by_mass_parameter(const char* standard) {
  return {.name = "momentum-by-mass",
          .standard = standard,
          .meaning =
              "let momentum decay by the share of a step's gradients that a round holds "
              "(SGD with momentum; other optimizers are left alone)"};
}

ParameterDescription window_parameter(const char* standard) {
  return {.name = "window",
          .standard = standard,
          .meaning = "rounds a rank may lag behind before the others wait for it"};
}

double read_ahead(const Values& values) { return values.number("ahead", 0, kFarthest); }
int read_window(const Values& values) { return values.whole("window", 1, base::kLargestWindow); }

std::vector<ParameterDescription> with_eager_parameters(std::vector<ParameterDescription> own) {
  own.push_back(grace_parameter("auto"));
  own.push_back(
      {.name = "anticipate",
       .standard = "on",
       .meaning = "compute gradients at the weights that are expected when they are taken"});
  own.push_back(ahead_parameter("2"));
  own.back().meaning += ", and not with anticipate=off";
  own.push_back(momentum_by_mass_parameter("on"));
  own.push_back(window_parameter("8"));
  return own;
}

GradientOptions read_eager_options(const Values& values) {
  const double ahead = read_ahead(values);
  return {.rounds = {.grace = values.grace("grace"), .window = read_window(values)},
          .anticipate = values.on("anticipate"),
          .ahead = values.on("anticipate") ? ahead : 0,
          .momentum_by_mass = values.on("momentum-by-mass")};
}

Gradients::Gradients(const Training& training, const GradientOptions& options)
    : learner_(training.learner),
      rank_(training.world.rank()),
      ranks_(training.world.size()),
      options_(options),
      rounds_(training.world,
              training.learner.size() + training.notes + (options.anticipate ? ranks_ : 0),
              options.rounds),
      sums_(training.notes),
      unsaved_notes_(training.unsaved_notes),
      counts_(training.learner.size() + training.notes) {
  notes_.resize(training.notes);
  // Alone it is the plain optimizer.
  if (ranks_ == 1 || !learner_.has_momentum()) options_.ahead = 0;
  if (options_.whole == 0) options_.whole = ranks_;
}

void Gradients::begin_step() {
  if (options_.anticipate || options_.ahead > 0) learner_.anticipate(lag_ + options_.ahead);
  learner_.write_gradient_to(rounds_.slot());
}

void Gradients::end_step(Duration /*computing*/) {
  learner_.flush_gradient();
  std::copy(notes_.begin(), notes_.end(), rounds_.slot() + learner_.size());
  if (options_.anticipate) {
    std::fill_n(rounds_.slot() + counts_, ranks_, 0.0F);
    rounds_.slot()[counts_ + rank_] = 1;
    bases_.push_back(stepped_);
  }
  for (const Round<float>& round : rounds_.exchange()) apply(round);
}

void Gradients::stop() {
  if (std::exchange(stopped_, true)) return;
  stopping();
  rounds_.stop();
}

bool Gradients::follow() {
  if (rounds_.finished()) return false;
  for (const Round<float>& round : rounds_.wait()) apply(round);
  return true;
}

void Gradients::finish() {
  stop();
  while (follow()) continue;
}

void Gradients::apply(const Round<float>& round) {
  const Receipt receipt = round.receipt();
  const std::span<const float> values = round.mean();
  const double mass = receipt.weight / ranks_;
  // The last round may find nothing to take, and nothing to tell.
  if (receipt.weight == 0 && receipt.drops == 0) return;
  const double divisor =
      options_.rounds.scale == Scale::contributors ? receipt.contributors.size() : ranks_;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] = float(values[learner_.size() + i] * divisor);
  }
  learner_.noted(sums_);
  const double stepped_before = stepped_;
  if (receipt.weight > 0) {
    const double step = options_.momentum_by_mass ? receipt.weight / options_.whole : 1;
    learner_.step(values.first(learner_.size()), step);
    stepped_ += step;
  }
  seen_ = receipt.round;
  if (options_.anticipate) {
    note_lags(stepped_before, std::lround(values[counts_ + rank_] * divisor));
  }
  learner_.exchanged({.number = before_ + receipt.round,
                      .agreed = true,
                      .notes = sums_,
                      .contributors = int(receipt.contributors.size()),
                      .mass = mass,
                      .staleness = receipt.staleness,
                      .dropped = receipt.drops,
                      .included = receipt.included,
                      .waited = receipt.waited,
                      .waited_for = receipt.waited_for});
  applied(receipt);
}

void Gradients::note_lags(double stepped, long taken) {
  for (; taken > 0 && !bases_.empty(); --taken) {
    const double lag = std::min(stepped - bases_.front(), double(options_.rounds.window));
    lag_ += kNewest * (lag - lag_);
    bases_.pop_front();
  }
}

void Gradients::describe(StateFields& state) {
  std::uint64_t before = rounds();
  std::uint64_t drops = rounds_.unreported();
  state.count("rounds", Sharing::same, before);
  state.number("lag", Sharing::own, lag_, {0, double(options_.rounds.window)});
  state.count("unreported drops", Sharing::pending, drops);
  if (state.loading()) {
    before_ = before;
    rounds_.report(drops);
  }
  describe_carried(state);
}

void Gradients::describe_carried(StateFields& state) {
  auto carried = state.saving() ? rounds_.carried() : std::nullopt;
  if (!state.has("carried", carried.has_value())) return;
  if (!carried) carried.emplace();
  carried->sum.resize(counts_);
  // How many they are is what each counts in the sum: one.
  state.number("carried weight", Sharing::pending, carried->weight, {0, kMostCarried});
  const std::span<float> sum = std::span(carried->sum);
  std::ranges::fill(sum.last(unsaved_notes_), 0.0F);
  state.vector("carried", Sharing::pending, sum);
  if (!state.loading()) return;
  // Whichever rank computed them, in a world of whatever size: now they are this one's.
  if (options_.anticipate) {
    carried->sum.resize(counts_ + std::size_t(ranks_));
    carried->sum[counts_ + std::size_t(rank_)] = float(carried->weight);
  }
  rounds_.restore(carried->sum, carried->weight);
  bases_.assign(std::size_t(std::lround(carried->weight)), 0);
}

}  // namespace syncopate::strategy
