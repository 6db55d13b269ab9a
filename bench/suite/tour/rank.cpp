#include "bench/suite/tour/rank.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/peers/measure.h"
#include "bench/suite/ours.h"
#include "syncopate/syncopate.h"

namespace syncopate::cli::tour {

namespace {

using bench::Gong;
using bench::Ours;
using peers::Clock;
using peers::microseconds_since;
using peers::sleep_milliseconds;

constexpr std::size_t kElements = 1024;

/// The values are whole numbers and so are their sums, exactly, in double precision: element 0
/// counts gradients, the others differ by rank, step and place.
double gradient(int rank, int step, std::size_t place) {
  return place == 0 ? 1 : double(rank + 1) * double(place) + double(step);
}

class Rank {
 public:
  explicit Rank(Work work)
      : world_(World::from_environment()),
        work_(std::move(work)),
        blame_(std::size_t(world_.size())) {}

  Seen run() {
    const std::vector<double> differences = work_.trigger == "group" ? average() : sum();
    return summary(differences);
  }

  bool prints() const { return world_.rank() == 0; }

 private:
  bool slow() const { return work_.skew == Skew::straggler && world_.rank() == world_.size() - 1; }

  double delay(int step) const {
    const int rank = world_.rank();
    if (work_.skew == Skew::turns) return kTurnMilliseconds * ((rank + step) % world_.size());
    if (slow()) return kStragglerMilliseconds;
    return kUsualMilliseconds + 0.5 * ((rank * 3 + step * 7) % 5);
  }

  /// Calls `step` with 0, 1, 2 …: as often as planned, or, for a straggler, until the others are
  /// through.
  template <typename Step>
  void take_steps(Gong& gong, const Step& step) {
    world_.barrier();
    if (slow()) gong.agree();
    const auto begin = Clock::now();
    for (int i = 0; slow() ? !gong.everyone_agrees() : i < work_.steps; ++i) {
      step(i);
      ++steps_;
    }
    elapsed_ms_ = microseconds_since(begin) * 1e-3;
    gong.agree();
  }

  void note_wait(Duration waited, int waited_for) {
    const double milliseconds = std::chrono::duration<double, std::milli>(waited).count();
    wait_ms_ += milliseconds;
    if (waited_for >= 0) blame_[std::size_t(waited_for)] += milliseconds;
  }

  /// Sums gradients. Returns, for each element, the sum over all deposits less that over rounds.
  std::vector<double> sum() {
    std::vector<double> balance(kElements, 0);
    std::vector<double> received(kElements, 0);
    Gong gong(world_);
    PartialAllreduce<double> gradients(world_, kElements,
                                       {.trigger = Trigger::parse(work_.trigger),
                                        .grace = Grace::parse(work_.grace),
                                        .scale = Scale::none,
                                        .window = kWindow});
    const auto apply = [&](const Round<double>& round) {
      const auto values = round.sum();
      for (std::size_t i = 0; i < kElements; ++i) received[i] += values[i];
    };
    take_steps(gong, [&](int step) {
      double* slot = gradients.slot();
      for (std::size_t i = 0; i < kElements; ++i) {
        slot[i] = gradient(world_.rank(), step, i);
        balance[i] += slot[i];
      }
      sleep_milliseconds(delay(step));
      for (const auto& round : gradients.exchange()) {
        const Receipt receipt = round.receipt();
        note_wait(receipt.waited, receipt.waited_for);
        contributors_ += receipt.contributors.size();
        ++rounds_;
        apply(round);
      }
    });
    gradients.finish(apply);
    gong.wait();
    Ours(world_).total(balance);
    gradients_ = balance[0];
    for (std::size_t i = 0; i < kElements; ++i) balance[i] -= received[i];
    return balance;
  }

  /// Averages weights in groups: nothing is summed that could be lost.
  std::vector<double> average() {
    Gong gong(world_);
    // With a straggler the ranks never all meet: they would go at its pace.
    GroupAverage<double> weights(world_, std::vector<double>(kElements, 0),
                                 {.group_size = work_.group_size,
                                  .synchronize_every = work_.skew == Skew::turns ? 10 : 0,
                                  .window = kWindow});
    take_steps(gong, [&](int step) {
      weights.weights()[0] += 1;
      sleep_milliseconds(delay(step));
      const GroupReceipt receipt = weights.average();
      note_wait(receipt.waited, receipt.waited_for);
      contributors_ += receipt.members.size();
      ++rounds_;
    });
    weights.leave();
    gong.wait();
    return {};
  }

  Seen summary(const std::vector<double>& differences) {
    const bool exact =
        std::all_of(differences.begin(), differences.end(), [](double each) { return each == 0; });
    const double counted = slow() ? 0 : 1;
    std::vector<double> sums = {counted * elapsed_ms_, counted * steps_, wait_ms_,
                                double(steps_),        contributors_,    double(rounds_),
                                exact ? 1.0 : 0.0};
    Ours(world_).total(sums);
    Ours(world_).total(blame_);
    const auto most = std::max_element(blame_.begin(), blame_.end());
    Seen seen{.step_ms = sums[0] / sums[1],
              .contributors = sums[4] / sums[5],
              .wait_ms = sums[2] / sums[3],
              .gradients = gradients_,
              .lost = differences.empty() ? 0 : differences[0],
              .exact_ranks = int(sums[6])};
    if (*most > 0) {
      seen.waited_for = int(most - blame_.begin());
      seen.waited_for_share = *most / sums[2];
    }
    return seen;
  }

  World world_;
  Work work_;
  std::vector<double> blame_;  // milliseconds waited for each rank
  int steps_ = 0;
  double elapsed_ms_ = 0;
  double wait_ms_ = 0;
  double contributors_ = 0;
  std::size_t rounds_ = 0;
  double gradients_ = 0;
};

}  // namespace

void run_rank(const std::string& work) {
  Rank rank(nlohmann::json::parse(work).get<Work>());
  const nlohmann::json seen = rank.run();
  if (rank.prints()) std::printf("%s\n", seen.dump().c_str());
}

}  // namespace syncopate::cli::tour
