// The shape of a partial allreduce: how long its vectors are, who takes part, by which rules, and
// how many buffers that needs on the board. The same on every rank.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "board/roster.h"
#include "partial/scaling.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/policy.h"
#include "syncopate/types.h"

namespace syncopate::partial {

/// The three ways to run rounds (runner.h).
enum class Way : std::uint8_t {
  local,   // ranks that wait run them
  pair,    // two ranks settle them between themselves
  agents,  // other machines take part: the agents run them
};

struct Shape {
  std::size_t elements = 0;
  DataType type = DataType::float32;
  int ranks = 1;        ///< Of this machine.
  int world_ranks = 1;  ///< Of all machines.
  int window = 8;
  Scale scale = Scale::ranks;
  std::uint64_t younger_than = LatePolicy::forever;
  bool waits_for_all = false;  ///< A round has a deposit of every rank that still makes any.

  /// For `ranks` ranks on one machine, or for the machine of `roster` in a larger world.
  static Shape of(std::size_t elements, DataType type, int ranks, const PartialOptions& options);
  static Shape of(std::size_t elements, DataType type, const board::Roster& roster,
                  const PartialOptions& options);

  Scaling scaling() const { return {scale, type, world_ranks}; }
  std::size_t vector_bytes() const { return elements * size_of(type); }
  /// Bytes on the board; of those, what is touched when no rank is ever late.
  std::size_t bytes() const;
  std::size_t smallest_bytes() const;

  /// Only what makes the runner asks for it; the others ask for what it means for them.
  Way way() const;

  /// One buffer per round that some rank has not seen, one for the running round, and one for every
  /// helper that may be stopped in the middle of an attempt. Memory is used by those in use.
  int buffers() const { return window + 1 + std::max(ranks, stages()); }
  /// Of the buffers, the first so many are for the sums of this machine alone, where agents run the
  /// rounds; the others are for results.
  int stages() const { return world_ranks != ranks ? 1 + ranks : 0; }
  /// Whether a deposit and a result may trade places (machine_rounds.h).
  bool values_move() const { return stages() > 0; }
  /// Whether each rank makes its own result: a deposit is then read until the others have seen its
  /// round, and several rounds may be published together (pair_runner.h).
  bool each_sums_up() const { return way() == Way::pair; }
  /// After the buffers that ranks share come those for such results.
  int own_buffers() const { return each_sums_up() ? ranks : 0; }
  int ring() const { return window + 2; }
};

}  // namespace syncopate::partial
