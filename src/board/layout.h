// Lays out parts one after another in a region of the board, each on its own cache lines.
#pragma once

#include <cstddef>

namespace syncopate::board {

class Layout {
 public:
  /// Where the next part of `bytes` bytes starts. Two cache lines are one unit, because
  /// processors fetch them in pairs.
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = end_;
    end_ += (bytes + kUnit - 1) / kUnit * kUnit;
    return offset;
  }
  std::size_t size() const { return end_; }

  static constexpr std::size_t kUnit = 128;

 private:
  std::size_t end_ = 0;
};

}  // namespace syncopate::board
