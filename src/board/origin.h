// Tells the process in which an object was made from forks of it, for the price of reading a word.
// A fork must not speak for the rank that its parent is: whatever changes the board asks first.
#pragma once

#include <atomic>
#include <cstdint>

namespace syncopate::board {

class Origin {
 public:
  Origin() : word_(&word()), stamp_(stamp()) {}

  /// Whether this is the process that made the object. (A child of vfork() shares its parent's
  /// memory and cannot be told from it; all that it may do is to call exec.)
  bool here() const { return word_->load(std::memory_order_relaxed) == stamp_; }

 private:
  using Word = std::atomic<std::uint64_t>;

  /// Zero in a new process, whatever it was in the parent.
  static Word& word();
  static std::uint64_t stamp();

  const Word* word_;
  std::uint64_t stamp_;
};

}  // namespace syncopate::board
