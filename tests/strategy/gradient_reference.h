// Strategies that exchange gradients, written down from their rules for a single process: ranks
// act in turns, a round starts when its trigger holds, and every rank applies every round. It also
// finds turns at random whose outcome does not depend on timing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "strategy/play.h"
#include "syncopate/policy.h"

namespace syncopate::testing {

using Numbers = std::vector<double>;

/// The gradient of a rank's step (0, 1, 2 …) at some weights.
using Gradient = std::function<Numbers(int rank, int step, const Numbers& weights)>;

/// Some that differ by rank, step and weights.
Numbers some_gradient(int rank, int step, const Numbers& weights);

struct ReferenceRule {
  Trigger trigger = all();
  bool carries = true;           ///< Late gradients; else they are dropped.
  bool by_contributors = false;  ///< What a round is divided by; else by the ranks.
  int window = 8;
  double rate = 0.1;
  double momentum = 0;
  bool momentum_by_mass = false;
  int whole = 0;  ///< Gradients that make a whole step; 0: one of each rank.
};

struct ReferenceRound {
  std::set<int> contributors;
  int gradients = 0;
  std::uint64_t staleness = 0;
  Numbers mean;
  Numbers weights;  ///< After it.
};

class GradientReference {
 public:
  GradientReference(int ranks, Numbers weights, const ReferenceRule& rule, Gradient gradient);

  /// A turn whose outcome is certain, chosen at random.
  Turn choose_turn(std::minstd_rand& random) const;
  /// Each of these ranks computes a gradient and gives it.
  void play(const Turn& turn);
  /// The last round takes what is carried.
  void finish();

  /// By number, beginning with 1.
  const ReferenceRound& round(std::uint64_t number) const { return rounds_.at(number - 1); }
  std::uint64_t rounds() const { return rounds_.size(); }
  int dropped() const { return dropped_; }
  /// Whether there are rounds that this rank has not seen.
  bool late(int rank) const { return seen_[rank] < rounds(); }

 private:
  struct Deposit {
    Numbers sum;
    int gradients = 0;
    std::uint64_t base = 0;
  };

  bool window_allows() const;
  /// Whether the next round starts if these came too.
  bool starts_with(const std::set<int>& coming) const;
  const Numbers& weights_of(int rank) const;
  void run_round();

  int ranks_;
  ReferenceRule rule_;
  Gradient gradient_;
  Numbers initial_;
  Numbers velocity_;
  std::vector<int> steps_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::optional<Deposit>> board_;
  std::vector<ReferenceRound> rounds_;
  int dropped_ = 0;
};

}  // namespace syncopate::testing
