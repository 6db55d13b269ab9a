// Who made a board: the first thing on it, in one form in all versions. Ranks that were built
// otherwise than the launcher would take its bytes for something else; they are refused, and told
// by which build the board was made.
#pragma once

#include <array>
#include <cstdint>

namespace syncopate::board {

/// Follows from the sizes of what lies on a board behind its roster, of which the board knows
/// nothing: the code that makes a board or opens one says it (world/layout.h).
enum class LayoutBehind : std::uint64_t {};

class Imprint {
 public:
  /// On zeroed memory.
  void write(LayoutBehind behind);
  /// Throws Error if the board is not one of this build.
  void check(LayoutBehind behind) const;

 private:
  std::uint64_t magic_;
  std::uint32_t version_;
  std::uint32_t layout_;  ///< Follows from the sizes of what lies on a board.
  std::array<char, 32> build_;
};

}  // namespace syncopate::board
