// The shape of a group average: how long its vectors are, who takes part, and how many buffers that
// needs on the board. The same on every rank of a machine.
#pragma once

#include <cstddef>

#include "board/roster.h"
#include "syncopate/group_average.h"
#include "syncopate/types.h"

namespace syncopate::group {

struct Shape {
  std::size_t elements = 0;
  DataType type = DataType::float32;
  int ranks = 1;        ///< Of this machine.
  int world_ranks = 1;  ///< Of all machines.
  int groups = 1;       ///< The most groups in one step.
  int window = 8;

  /// For `ranks` ranks on one machine, or for the machine of `roster` in a larger world. `options`
  /// are complete.
  static Shape of(std::size_t elements, DataType type, int ranks, const GroupOptions& options);
  static Shape of(std::size_t elements, DataType type, const board::Roster& roster,
                  const GroupOptions& options);

  std::size_t vector_bytes() const { return elements * size_of(type); }
  /// Bytes on the board; of those, what is touched when no rank is ever late.
  std::size_t bytes() const;
  std::size_t smallest_bytes() const;

  /// Whether other machines take part.
  bool across() const { return world_ranks != ranks; }
  /// A result per group and step in the window, and one for every helper that may be stopped in the
  /// middle of an attempt. Memory is used by those in use.
  int buffers() const;
  /// Steps whose records exist at once.
  int depth() const { return window + 2; }
};

}  // namespace syncopate::group
