// A word that several ranks read and write at once. All operations are sequentially
// consistent unless named otherwise, because ranks publish their own word and then look at
// the others' (a pattern that weaker orders break).
//
// In test builds (SYNCOPATE_STEPPED) every access first calls a hook, so that a scheduler can
// switch ranks, stop one or kill it at each step of the protocol.
#pragma once

#include <atomic>

#include "board/step.h"

namespace syncopate::board {

template <typename T>
class Shared {
 public:
  T load() const {
    step(Step::read);
    return value_.load(std::memory_order_seq_cst);
  }
  void store(T value) {
    step(Step::write);
    value_.store(value, std::memory_order_seq_cst);
  }
  /// Stores `desired` if the word is `expected`; otherwise reads the word into `expected`.
  bool replace(T& expected, T desired) {
    step(Step::replace);
    return value_.compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
  }

  /// Adds one and returns the sum.
  T increment() {
    step(Step::replace);
    return value_.fetch_add(1, std::memory_order_seq_cst) + 1;
  }

  /// For notes that order nothing: statistics, hints.
  T load_relaxed() const { return value_.load(std::memory_order_relaxed); }
  void store_relaxed(T value) { value_.store(value, std::memory_order_relaxed); }
  /// Makes everything this rank wrote before visible to who loads the value.
  void store_release(T value) {
    step(Step::write);
    value_.store(value, std::memory_order_release);
  }

  /// The word itself, for the futex system call.
  void* address() { return &value_; }

 private:
  static_assert(std::atomic<T>::is_always_lock_free, "ranks in other processes share the word");
  std::atomic<T> value_;
};

}  // namespace syncopate::board
