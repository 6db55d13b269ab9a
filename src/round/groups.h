// Which ranks average together at which step: groups that rotate so that news from any rank
// reaches every other in ⌈log_S P⌉ steps, whatever P and S. A pure function of its arguments,
// the same on every rank.
//
// Powers of two use the butterfly of the WAGMA paper. Elsewhere ranks stand in a line that is
// cut into groups; after each step the line is dealt anew, one rank from each group in turn, so
// that the members of a group go to different ones. Between groups this is a generalized de
// Bruijn graph, whose diameter gives the bound; where the sizes come out so unevenly that the
// bound is missed, one group less makes it hold.
#pragma once

#include <cstdint>
#include <vector>

#include "syncopate/group_average.h"

namespace syncopate::round {

class GroupSchedule {
 public:
  GroupSchedule(int ranks, int group_size, bool rotate, std::uint64_t seed);

  /// The number of groups at every step.
  int groups() const { return groups_; }
  /// The group that `rank` is in at `step` (0, 1, 2 …), from 0 to groups() − 1.
  int group_of(std::uint64_t step, int rank) const;
  /// Its members in increasing order.
  std::vector<int> members(std::uint64_t step, int rank) const;

  /// Steps in which news from any rank reaches every other, if groups rotate.
  static int steps_to_reach_all(int ranks, int group_size);
  /// The square root of the ranks, rounded; a power of two where `ranks` is one.
  static int default_size(int ranks);

 private:
  using Order = std::vector<int>;

  bool reaches_all_in_time() const;
  void deal(int groups);
  Order order_at(std::uint64_t step) const;
  int first_place(int group) const;
  int group_at(int place) const;
  /// Members of a group differ in these bits of their numbers.
  unsigned butterfly(std::uint64_t step) const;

  int ranks_;
  int size_;
  int groups_;
  bool rotate_;
  bool butterfly_;
  Order start_;  ///< The line at step 0.
  Order deal_;   ///< Where the one at each place comes from in the next line.
};

/// Who averages with whom at which step (1, 2, 3 …), by their numbers in the world: the schedule,
/// and all of them every so many steps.
class GroupPlan {
 public:
  GroupPlan(int ranks, const GroupOptions& options)
      : ranks_(ranks),
        every_(static_cast<std::uint64_t>(options.synchronize_every)),
        schedule_(ranks, options.group_size, options.rotate, options.seed) {}

  std::uint64_t every() const { return every_; }
  bool everyone_at(std::uint64_t step) const { return every_ > 0 && step % every_ == 0; }
  int group_at(std::uint64_t step, int rank) const {
    return everyone_at(step) ? 0 : schedule_.group_of(step - 1, rank);
  }
  std::vector<int> members_at(std::uint64_t step, int rank) const;

 private:
  int ranks_;
  std::uint64_t every_;  ///< 0: never.
  GroupSchedule schedule_;
};

}  // namespace syncopate::round
