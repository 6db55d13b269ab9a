// What a rank makes of its group's mean: the mean itself if the rank's weights are in it; otherwise
// the two together, as LateMerge says.
//
// With LateMerge::keep a step counts in full until a mean has it. For that a rank keeps a copy of
// its weights as each step found them, and those of its steps that rounds ahead of it lack.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "group/board.h"
#include "syncopate/group_average.h"

namespace syncopate::group {

class Merger {
 public:
  Merger(const Board& board, LateMerge late, const void* initial);

  /// Puts the new weights into `out`, from the mean of the step in `buffer`.
  void merge(RoundNumber step, int buffer, void* out);

 private:
  /// A step of this rank that rounds ahead of it have not seen.
  struct Taken {
    RoundNumber step;
    std::vector<std::byte> movement;
  };

  void merge_late(RoundNumber step, int buffer, int lag, void* out) const;
  /// Keeps this rank's last step while rounds ahead have weights from before it.
  void keep_step(RoundNumber step, int lag);
  const void* own_weights() const;
  void sum(std::span<const board::Term> terms, double scale, void* out) const;

  const Board& board_;
  LateMerge late_;
  // For LateMerge::keep:
  std::vector<std::byte> origin_;  ///< The weights as the last step found them.
  std::deque<Taken> unseen_;       ///< Oldest first.
};

}  // namespace syncopate::group
