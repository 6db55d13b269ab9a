#include <algorithm>
#include <numeric>

#include "strategy/cut.h"
#include "strategy/gradients.h"
#include "syncopate/allreduce.h"

namespace syncopate::strategy {
namespace {

constexpr int kObservedSteps = 20;
/// In nanoseconds: some hundred days.
constexpr std::uint64_t kLongestDeadline = StateFields::kMost;

/// Synchronous, but a rank whose step has taken tau gives what it has. The trainer divides by the
/// whole batch, so that what was skipped counts as zero.
class DropCompute final : public Gradients {
 public:
  DropCompute(const Training& training, int parts, std::optional<Duration> tau)
      : Gradients(training, {}),
        rank_(training.world.rank()),
        parts_(parts),
        tau_(tau),
        times_(training.world, std::size_t(kObservedSteps) * ranks() * parts + 1) {}

  int parts() const override { return parts_; }

  bool enough(Duration computing) override {
    if (tau_) return computing >= *tau_;
    mine_.push_back(std::chrono::duration<float>(computing).count());
    return false;
  }

  void end_step(Duration computing) override {
    const auto began = std::chrono::steady_clock::now();
    waited_ = Duration(0);
    Gradients::end_step(computing);
    if (tau_) return;
    exchanging_ += std::chrono::steady_clock::now() - began - waited_;
    // A small batch may have fewer parts; then the last of them end together.
    ++observed_;
    mine_.resize(std::size_t(observed_) * parts_, mine_.empty() ? 0 : mine_.back());
    if (observed_ == kObservedSteps) choose_tau();
  }

  /// A deadline that is not chosen yet is chosen anew, from as many steps: all ranks begin to
  /// observe together.
  void describe(StateFields& state) override {
    Gradients::describe(state);
    auto tau = std::uint64_t(tau_.value_or(Duration(0)).count());
    if (!state.has("tau", tau_.has_value())) return;
    state.count("tau", Sharing::same, tau, kLongestDeadline);
    if (state.loading()) tau_ = Duration(std::int64_t(tau));
  }

 protected:
  // Others may still observe; no rank waits for our times.
  void stopping() override { times_.leave(); }
  void applied(const Receipt& receipt) override { waited_ += receipt.waited; }

 private:
  /// All ranks learn all ranks' times, and so come to the same tau.
  void choose_tau() {
    float* all = times_.slot();
    std::fill(all, all + times_.size(), 0.0F);
    const std::size_t block = std::size_t(kObservedSteps) * parts_;
    std::copy_n(mine_.begin(), block, all + rank_ * block);
    all[times_.size() - 1] =
        std::chrono::duration<float>(exchanging_).count() / (kObservedSteps * float(ranks()));
    const auto rounds = times_.exchange();
    const std::span<const float> sum = rounds.front().sum();
    const double tau = best_cut({.steps = kObservedSteps,
                                 .ranks = ranks(),
                                 .parts = parts_,
                                 .ends = sum.first(sum.size() - 1),
                                 .exchange = sum.back()});
    tau_ = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(tau));
  }

  int rank_;
  int parts_;
  std::optional<Duration> tau_;
  Allreduce<float> times_;
  int observed_ = 0;
  std::vector<float> mine_;  ///< When each part of each observed step ended, in seconds.
  Duration exchanging_{0};
  Duration waited_{0};
};

}  // namespace

double best_cut(const StepRecord& record) {
  const auto end = [&](int rank, int step, int part) {
    return double(record.ends[(std::size_t(rank) * record.steps + step) * record.parts + part]);
  };
  // How fast the world goes if steps are cut at tau: work kept, over the time it takes.
  const auto speed = [&](double tau) {
    double sum = 0;
    for (int step = 0; step < record.steps; ++step) {
      double whole = 0, cut = 0;
      int kept = 0;
      for (int rank = 0; rank < record.ranks; ++rank) {
        whole = std::max(whole, end(rank, step, record.parts - 1));
        int part = 0;
        while (part < record.parts - 1 && end(rank, step, part) < tau) ++part;
        kept += part + 1;
        cut = std::max(cut, end(rank, step, part));
      }
      const double share = double(kept) / (record.ranks * record.parts);
      sum += share * (whole + record.exchange) / (cut + record.exchange);
    }
    return sum / record.steps;
  };
  double best = *std::max_element(record.ends.begin(), record.ends.end());
  double fastest = speed(best);
  for (const float candidate : record.ends) {
    if (const double reached = speed(candidate); reached > fastest) {
      fastest = reached;
      best = candidate;
    }
  }
  return best;
}

const Entry& dropcompute() {
  static const Entry entry{
      {.name = "dropcompute",
       .summary = "synchronous; a rank stops computing at a deadline and gives what it has",
       .paper = "DropCompute, arXiv 2306.10598",
       .parameters = {{.name = "tau",
                       .standard = "auto",
                       .meaning =
                           "the deadline of a step's computing; auto: chosen from the first " +
                           std::to_string(kObservedSteps) + " steps of all ranks",
                       .by_place = true},
                      {.name = "parts", .standard = "4", .meaning = "micro-batches per step"}}},
      [](const Values& values, int) -> Maker {
        const auto tau = values.duration("tau");
        const int parts = values.whole("parts", 2, 1024);
        return [tau, parts](const Training& training) {
          return std::make_unique<DropCompute>(training, parts, tau);
        };
      }};
  return entry;
}

}  // namespace syncopate::strategy
