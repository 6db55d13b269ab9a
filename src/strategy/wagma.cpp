#include <algorithm>
#include <cmath>
#include <utility>

#include "base/options.h"
#include "group/options.h"
#include "strategy/registry.h"
#include "syncopate/allreduce.h"
#include "syncopate/group_average.h"

namespace syncopate::strategy {
namespace {

/// A local step, then the mean over this step's group; every so many steps over everyone.
class Wagma final : public Strategy {
 public:
  Wagma(const Training& training, const GroupOptions& options)
      : world_(training.world),
        learner_(training.learner),
        ranks_(training.world.size()),
        average_(training.world, initial(training), options),
        gradient_(learner_.size()),
        kept_notes_(training.notes - training.unsaved_notes),
        gathered_(training.notes) {
    notes_.resize(training.notes);
    learner_.keep_weights_at(average_.weights());
  }

  // The weights must not stay on a board that goes away, whatever ended the training.
  ~Wagma() override { learner_.keep_weights_at(nullptr); }

  void begin_step() override { learner_.write_gradient_to(gradient_.data()); }

  void end_step(Duration /*computing*/) override {
    learner_.flush_gradient();
    learner_.step(gradient_, 1);
    learner_.flush_weights();
    // The means of groups would mix the notes as well; each publication says them anew.
    for (std::size_t i = 0; i < notes_.size(); ++i) gathered_[i] += notes_[i];
    std::copy(gathered_.begin(), gathered_.end(), average_.weights() + learner_.size());
    const GroupReceipt receipt = average_.average();
    learner_.keep_weights_at(average_.weights());
    report(receipt);
  }

  void stop() override {
    if (std::exchange(stopped_, true)) return;
    learner_.keep_weights_at(nullptr);
    average_.leave();
  }

  /// The others average without this rank; it hears of them again at the end.
  bool follow() override { return false; }

  void finish() override {
    stop();
    meet_for_the_last_time();
  }

  void describe(StateFields& state) override {
    std::uint64_t before = before_ + seen_;
    state.count("rounds", Sharing::same, before);
    state.vector("notes", Sharing::pending, std::span(gathered_).first(kept_notes_));
    if (state.loading()) before_ = before;
  }

 private:
  static std::vector<float> initial(const Training& training) {
    std::vector<float> weights(training.learner.size() + training.notes);
    training.learner.read_weights(std::span(weights).first(training.learner.size()));
    return weights;
  }

  /// Unless everyone met at the last step, the ranks' weights differ, and notes are on their way.
  void meet_for_the_last_time() {
    const std::size_t ends = learner_.size() + gathered_.size();  // Where each rank has a place.
    Allreduce<float> everyone(world_, ends + std::size_t(ranks_));
    std::vector<float> mine(everyone.size());
    learner_.read_weights({mine.data(), learner_.size()});
    std::ranges::copy(gathered_, mine.data() + learner_.size());
    // Where it ended, if it was with everyone there; as a float it is exact for this long.
    constexpr std::uint64_t kExact = std::uint64_t{1} << 24;
    mine[ends + std::size_t(world_.rank())] = seen_ == met_ ? float(seen_ % kExact) : -1;
    const Rounds<float> rounds = everyone.exchange(mine);
    const std::span<const float> sum = rounds.front().sum();
    const Receipt receipt = rounds.front().receipt();
    const std::vector<int> here = receipt.contributors.list();
    const float end = sum[ends + std::size_t(here.front())];
    const bool met = std::ranges::all_of(
        here, [&](int rank) { return end >= 0 && sum[ends + std::size_t(rank)] == end; });
    if (met) return;
    const int ranks = receipt.contributors.size();
    for (std::size_t i = 0; i < learner_.size(); ++i) mine[i] = float(double(sum[i]) / ranks);
    learner_.keep_weights_at(mine.data());
    learner_.keep_weights_at(nullptr);
    std::ranges::copy(sum.subspan(learner_.size(), gathered_.size()), gathered_.begin());
    learner_.noted(gathered_);
    learner_.exchanged({.number = before_ + seen_ + 1,
                        .agreed = true,
                        .notes = gathered_,
                        .contributors = ranks,
                        .mass = double(ranks) / ranks_,
                        .included = true,
                        .waited = receipt.waited,
                        .waited_for = receipt.waited_for});
  }

  void report(const GroupReceipt& receipt) {
    seen_ = receipt.step;
    if (receipt.everyone) met_ = seen_;
    Exchange exchange{.number = before_ + seen_,
                      .agreed = receipt.everyone,
                      .contributors = receipt.members.size(),
                      .mass = double(receipt.members.size()) / ranks_,
                      .staleness = receipt.staleness,
                      .included = receipt.included,
                      .waited = receipt.waited,
                      .waited_for = receipt.waited_for};
    if (receipt.everyone) {
      const float* means = average_.weights() + learner_.size();
      for (std::size_t i = 0; i < gathered_.size(); ++i) {
        gathered_[i] = means[i] * float(receipt.members.size());
      }
      exchange.notes = gathered_;
      learner_.noted(gathered_);
    }
    learner_.exchanged(exchange);
    if (receipt.everyone) std::fill(gathered_.begin(), gathered_.end(), 0.0F);
  }

  World world_;
  Learner& learner_;
  int ranks_;
  GroupAverage<float> average_;
  std::vector<float> gradient_;
  std::size_t kept_notes_;       ///< The first so many are in a checkpoint.
  std::vector<float> gathered_;  ///< Notes since everyone met.
  std::uint64_t before_ = 0;     ///< Steps of the runs that this one resumes.
  std::uint64_t seen_ = 0;
  std::uint64_t met_ = 0;  ///< When everyone met.
  bool stopped_ = false;
};

constexpr int kMostSynchronize = 200;

}  // namespace

const Entry& wagma() {
  static const Entry entry{
      {.name = "wagma",
       .summary = "weights in rotating groups of S, started by the first; every TAU steps everyone",
       .paper = "WAGMA-SGD, arXiv 2005.00124",
       .parameters = {{.name = "S",
                       .standard = "auto",
                       .meaning = "ranks per group; auto: the square root of the ranks",
                       .by_place = true},
                      {.name = "TAU",
                       .standard = "10",
                       .meaning = "steps between two averages of everyone",
                       .by_place = true},
                      {.name = "grace",
                       .standard = "off",
                       .meaning = "how long a group waits for its members: off, auto, a share of "
                                  "the median step time such as 0.2, or a duration"},
                      {.name = "late",
                       .standard = "keep",
                       .meaning = "what a rank does whose weights missed the mean: average them "
                                  "into it, as in the paper, or keep the steps it has not seen"},
                      {.name = "rotate",
                       .standard = "on",
                       .meaning = "off keeps the groups of the first step"}}},
      [](const Values& values, int ranks) -> Maker {
        GroupOptions options{.group_size = values.whole_or_auto("S", 1, ranks),
                             .synchronize_every = values.whole("TAU", 1, kMostSynchronize),
                             .rotate = values.on("rotate"),
                             .grace = values.grace("grace"),
                             .late = LateMerge(values.choice("late", {"average", "keep"}))};
        group::check(options, ranks);
        return [options](const Training& training) {
          GroupOptions seeded = options;
          seeded.seed = training.seed;
          return std::make_unique<Wagma>(training, seeded);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy
