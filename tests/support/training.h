// A training loop without a model: each rank deposits and reads rounds in ways and at times
// drawn from a seed, with an Audit that looks at everything.
#pragma once

#include <sched.h>

#include <random>
#include <vector>

#include "support/audit.h"

namespace syncopate::testing {

struct Training {
  PartialOptions options{.scale = Scale::none};
  std::size_t elements = 67;
  int steps = 100;
  bool weighted = false;
  int away = 8;        ///< The most that a rank lets others run between two steps.
  int straggler = -1;  ///< A rank that is away for much longer, always.
  int leaver = -1;     ///< A rank that goes when half of its steps are done.
  std::uint64_t seed = 1;
};

/// Lets others run for a while, instead of computing.
inline void be_away(int times) {
  for (int i = 0; i < times; ++i) sched_yield();
}

template <typename T>
class Trainee {
 public:
  Trainee(World& world, AuditBook& book, const Training& training)
      : training_(training),
        rank_(world.rank()),
        rounds_(world, training.elements, training.options),
        audit_(book, world, training.elements, training.weighted, training.options.window),
        random_(training.seed * 1000 + world.rank()),
        buffer_(training.elements) {}

  /// All the steps, and then finish() or leave().
  void run() {
    const bool leaves = rank_ == training_.leaver;
    const int steps = leaves ? training_.steps / 2 : training_.steps;
    for (int i = 0; i < steps && !::testing::Test::HasFatalFailure(); ++i) step();
    if (leaves) {
      rounds_.leave();
      return;
    }
    rounds_.finish([&](const Round<T>& round) { audit_.check(round); });
    audit_.settle();
  }

 private:
  void step() {
    be_away(below(training_.away + 1) * (rank_ == training_.straggler ? 50 : 1));
    const bool may_drop = training_.options.late != carry();
    switch (below(may_drop ? 3 : 5)) {
      case 0:
        for (int deposits = 1 + below(3); deposits > 0; --deposits) start();
        break;
      case 1:
        start();
        for (int looks = below(4); looks > 0 && !rounds_.ready(); --looks) be_away(1);
        break;
      case 2:
        rounds_.start_empty();
        break;
      case 3: {
        const double weight = audit_.make(rounds_.slot());
        return check_all(rounds_.exchange(weight));
      }
      default: {
        const double weight = audit_.make(buffer_.data());
        return check_all(rounds_.exchange(buffer_, weight));
      }
    }
    check_all(rounds_.wait());
  }

  void start() {
    if (below(2) == 0) {
      const double weight = audit_.make(rounds_.slot());
      rounds_.start(weight);
    } else {
      const double weight = audit_.make(buffer_.data());
      rounds_.start(buffer_, weight);
    }
    audit_.note_dropped(rounds_.dropped());
  }

  void check_all(const Rounds<T>& rounds) {
    EXPECT_GE(rounds.size(), 1U);
    EXPECT_LE(rounds.size(), static_cast<std::size_t>(training_.options.window));
    for (const auto& round : rounds) audit_.check(round);
  }

  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  const Training& training_;
  int rank_;
  PartialAllreduce<T> rounds_;
  Audit<T> audit_;
  std::mt19937_64 random_;
  std::vector<T> buffer_;
};

}  // namespace syncopate::testing
