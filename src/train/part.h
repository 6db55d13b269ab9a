// One rank's part of a checkpoint, as the bytes of its file, free of torch. What is read is checked
// by itself (version, checksum, types, ranges, nothing that was not asked for); how long its
// vectors are to be is for those to say who know the model and the strategy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syncopate/strategy_state.h"
#include "train/result.h"
#include "train/tensor_bytes.h"

namespace syncopate::train {

/// Of the files. 1: the first, without a number in it. 2: the checksum covers the header; each
/// entry of a strategy says how it is shared.
inline constexpr int kPartVersion = 2;

/// The trainer's own counters.
struct Counters {
  double samples = 0;  ///< Of all ranks; the rest is this rank's.
  double exchanges = 0;
  double taken = 0;  ///< By the sampler.
  double seconds = 0;
  double computing = 0;
  double waiting = 0;
  double own_samples = 0;
  double steps = 0;
  double own_exchanges = 0;
  double contributors = 0;
  double staleness = 0;
  double dropped = 0;
  double before = 0;
  double samples_before = 0;

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct Part {
  int ranks = 1;  ///< Of the world that saved it.
  Counters counters;
  std::vector<Evaluation> evaluations;
  std::vector<float> weights;
  /// What anticipated weights go by: those before the last step, and its mass.
  struct Heading {
    std::vector<float> before;
    double mass = 1;
  };
  std::optional<Heading> heading;
  StrategyState strategy;
};

/// Tensors of the framework, by name. They lie elsewhere.
using Foreign = std::map<std::string, TensorBytes>;

struct PartAndForeign {
  Part part;
  Foreign foreign;  ///< Still in the bytes that were read.
};

/// `kind`: what a run must have in common with one whose checkpoint it takes.
std::string to_bytes(const Part& part, const std::string& kind, const Foreign& foreign);
/// Throws Damaged for what is no part, not whole, of another version or of another kind of run.
PartAndForeign read_part(std::span<const std::byte> file, const std::string& kind);

/// The training clock that the notes of a part tell; the notes are not checked.
double clock_of(const Notes& notes);

}  // namespace syncopate::train
