// The ordinary sum over all ranks, every one waiting for every other: the synchronous
// baseline, on the same board. A rank that dies is left out from then on.
#pragma once

#include "syncopate/partial_allreduce.h"

namespace syncopate {

struct AllreduceOptions {
  Scale scale = Scale::none;
};

template <typename T = float>
class Allreduce {
 public:
  Allreduce(const World& world, std::size_t elements, const AllreduceOptions& options = {})
      : rounds_(world, elements, {.trigger = all(), .scale = options.scale}) {}

  /// Where to write this rank's values: memory of the board, so that nothing is copied. Ask again
  /// after each exchange: the address changes.
  T* slot() { return rounds_.slot(); }

  /// Sums the ranks' slots. The result (`.front().sum()` or `.front().mean()`) lives on the
  /// board until the returned object ends or the next call. If the step throws before, the next
  /// exchange returns the result again (see Rounds).
  Rounds<T> exchange(double weight = 1) { return rounds_.exchange(weight); }
  Rounds<T> exchange(std::span<const T> values, double weight = 1) {
    return rounds_.exchange(values, weight);
  }

  void start(double weight = 1) { rounds_.start(weight); }
  void start(std::span<const T> values, double weight = 1) { rounds_.start(values, weight); }
  bool ready() { return rounds_.ready(); }
  Rounds<T> wait() { return rounds_.wait(); }
  void leave() { rounds_.leave(); }
  std::size_t size() const { return rounds_.size(); }

 private:
  PartialAllreduce<T> rounds_;
};

}  // namespace syncopate
