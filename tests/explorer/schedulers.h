// Ways to choose who takes the next step.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "explorer/random.h"
#include "support/machine.h"

namespace syncopate::testing {

/// Lets a rank run on, and with some probability switches to any other.
class RandomWalk final : public Machine::Scheduler {
 public:
  RandomWalk(Random& random, int one_in) : random_(random), one_in_(one_in) {}

  int choose(Ranks ready, int current, Step /*at*/) override {
    if (current != Machine::kNobody && !random_.one_in(one_in_)) return current;
    int skip = random_.below(std::popcount(ready));
    while (skip-- > 0) ready &= ready - 1;
    return std::countr_zero(ready);
  }

 private:
  Random& random_;
  int one_in_;
};

/// Probabilistic concurrency testing: ranks have random priorities, the highest runs, and at a
/// few random steps the one that runs falls to the lowest. Finds a bug of depth d with a
/// probability that is bounded from below.
class Priorities final : public Machine::Scheduler {
 public:
  Priorities(Random& random, int ranks, int changes, int steps) {
    for (int rank = 0; rank < ranks; ++rank) priorities_[rank] = kHigh + random.below(1 << 20);
    for (int i = 0; i < changes; ++i) changes_.push_back(random.between(1, steps));
  }

  int choose(Ranks ready, int current, Step /*at*/) override {
    ++asked_;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      if (changes_[i] == asked_ && current != Machine::kNobody) {
        priorities_[current] = kHigh - 1 - static_cast<int>(i);
      }
    }
    int best = std::countr_zero(ready);
    for (Ranks rest = ready; rest != 0; rest &= rest - 1) {
      const int rank = std::countr_zero(rest);
      if (priorities_[rank] > priorities_[best]) best = rank;
    }
    return best;
  }

 private:
  static constexpr int kHigh = 1000;
  std::array<int, Machine::kMostRanks> priorities_{};
  std::vector<int> changes_;
  int asked_ = 0;
};

/// Every schedule with at most so many preemptions, one after another: a rank runs until it
/// cannot go on, except at the chosen places. Which rank to run when none is preempted is free, or
/// costs as much as a preemption (where ranks wake by the clock again and again, all orders of
/// their waking would be too many).
class Systematic final : public Machine::Scheduler {
 public:
  /// A place where the choice was not the first one.
  struct Deviation {
    int point;
    int option;
  };

  enum class Order : std::uint8_t { free, counted };

  explicit Systematic(int preemptions, Order order = Order::free)
      : most_(preemptions), order_(order) {}
  /// Plays exactly one schedule.
  explicit Systematic(const std::vector<Deviation>& deviations) : most_(0) {
    for (const Deviation& deviation : deviations) {
      while (static_cast<int>(points_.size()) < deviation.point) points_.push_back({});
      points_.push_back({.option = deviation.option});
    }
  }

  int choose(Ranks ready, int current, Step at) override;

  /// Prepares the next schedule; false if there is none.
  bool next();
  std::vector<Deviation> deviations() const;

 private:
  struct Point {
    int option = 0;
    int options = 1;
    int spent = 0;      ///< On all points up to and with this one.
    bool free = false;  ///< Another choice costs nothing.
  };

  int most_;
  Order order_ = Order::free;
  std::vector<Point> points_;
  std::size_t played_ = 0;
};

}  // namespace syncopate::testing
