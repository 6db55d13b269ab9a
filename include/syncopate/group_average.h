// Model averaging in rotating groups that does not wait (WAGMA). Each rank publishes its
// weights and gets the mean over its group of this step. The first of a group to arrive runs
// the average with what the others published last; a rank that comes later merges its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "syncopate/detail/group_base.h"
#include "syncopate/policy.h"
#include "syncopate/receipt.h"
#include "syncopate/types.h"
#include "syncopate/world.h"

namespace syncopate {

/// What becomes of weights W′ that missed the mean of their group, where an older copy of them
/// stood in for them. A mean of models is no sum of gradients: what a step weighs in the end
/// depends on which means it was in.
enum class LateMerge : std::uint8_t {
  /// (Σ + W′)/(S + 1), as in the paper: of the steps since that copy only a part is left.
  average,
  keep,  ///< Σ/S, and every step that the rank has taken since that copy, whole.
};

const char* to_string(LateMerge late);

struct GroupOptions {
  int group_size = 0;          ///< Ranks per group; 0: the square root of the ranks, rounded.
  int synchronize_every = 10;  ///< Every so many steps all ranks average together; 0: never.
  bool rotate = true;          ///< false keeps the groups of step 0, for comparison.
  Trigger trigger = first();   ///< first() or all(), within the group.
  Grace grace = no_grace();
  LateMerge late = LateMerge::average;
  int window = 0;          ///< Steps a rank may lag; 0: synchronize_every, or 8 without it.
  std::uint64_t seed = 1;  ///< For the rotation where sizes are not powers of two.
};

struct GroupReceipt {
  std::uint64_t step = 0;  ///< 1, 2, 3 …
  RankSet members;         ///< Ranks whose weights are in the sum.
  bool included = false;   ///< Whether this rank's current weights were in it.
  /// Steps between this step and the weights of this rank in the sum; 0 if they were the current
  /// ones, or none.
  std::uint64_t own_staleness = 0;
  bool everyone = false;        ///< A synchronizing step.
  std::uint64_t staleness = 0;  ///< Steps between the oldest weights in the sum and this step.
  Duration waited{0};
  int waited_for = -1;
  RankSet dead;
};

template <typename T = float>
class GroupAverage : private detail::GroupAverageBase {
 public:
  /// `initial` are the common initial weights: what a group uses for a rank that has not
  /// published yet. Returns when all live ranks have come.
  GroupAverage(const World& world, std::span<const T> initial, const GroupOptions& options = {})
      : GroupAverageBase(world, initial.size(), data_type<T>, initial.data(), options) {}

  /// This rank's weights, on the board. Step them in place, then call average(). The address
  /// changes with each average.
  T* weights() { return static_cast<T*>(writable_weights()); }

  /// Publishes the weights and replaces them by the mean over this step's group: Σ/S if they
  /// were in the sum, or as GroupOptions::late says if the group ran with older ones.
  GroupReceipt average() { return GroupAverageBase::average(); }
  /// The same on the caller's own buffer, with one copy in. weights() does not follow: use one or
  /// the other.
  GroupReceipt average(std::span<T> values) { return average_values(values.data(), values.size()); }

  /// average() in two halves. The weights must not be touched in between.
  using GroupAverageBase::ready;
  using GroupAverageBase::start;
  using GroupAverageBase::wait;

  /// Goes: no later group counts on this rank.
  using GroupAverageBase::leave;
  using GroupAverageBase::size;
};

}  // namespace syncopate
