// The shape of a partial allreduce: how long its vectors are, who takes part, by which rules, and
// how many buffers that needs on the board. The same on every rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board/roster.h"
#include "partial/scaling.h"
#include "syncopate/partial_allreduce.h"
#include "syncopate/policy.h"
#include "syncopate/types.h"

namespace syncopate::partial {

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

  /// Whether other machines take part, so that the agents run the rounds (agent_runner.h).
  bool across() const { return world_ranks != ranks; }
  /// Whether two ranks may settle rounds between themselves (pair_runner.h).
  bool pairs() const;

  /// One buffer per round that some rank has not seen, one for the running round, and one for every
  /// helper that may be stopped in the middle of an attempt. Memory is used by those in use.
  int buffers() const { return window + 1 + ranks + (across() ? 1 : 0); }
  /// Of the buffers, the first so many are for the sums of this machine alone; the others are for
  /// results.
  int stages() const { return across() ? 1 + ranks : 0; }
  /// After the buffers that ranks share each rank of a pair has one of its own.
  int own_buffers() const { return pairs() ? ranks : 0; }
  int ring() const { return window + 2; }
};

}  // namespace syncopate::partial
