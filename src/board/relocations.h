// Where vectors of a board lie that may change places, as a result may come to be where a deposit
// was: the two then exchange their memory instead of their values. Offsets into the board's memory;
// 0 for a vector that has not moved. A rank that exchanges two has them both to itself; others
// learn of it with what lets them use either again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "board/shared.h"

namespace syncopate::board {

class Relocations {
 public:
  /// Nothing ever moves.
  Relocations() = default;
  Relocations(std::byte* memory, Shared<std::uint64_t>* offsets)
      : memory_(memory), offsets_(offsets) {}

  /// Where vector `index` is, whose own place is `own`.
  std::byte* find(int index, std::byte* own) const {
    const std::uint64_t offset = offsets_ == nullptr ? 0 : offsets_[index].load_relaxed();
    return offset == 0 ? own : memory_ + offset;
  }
  void move(int index, const void* to) const {
    offsets_[index].store_relaxed(static_cast<const std::byte*>(to) - memory_);
  }

 private:
  std::byte* memory_ = nullptr;
  Shared<std::uint64_t>* offsets_ = nullptr;
};

}  // namespace syncopate::board
