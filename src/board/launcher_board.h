// The launcher's side of a board: makes the shared memory in which the ranks of one machine
// meet, tells where it is, and notes which ranks' processes have ended. The memory has no name
// in any file system; it is gone when the last process that uses it is gone.
#pragma once

#include <memory>
#include <string>

#include "board/imprint.h"
#include "board/platform.h"

namespace syncopate::board {

/// Variables that tell a process its place; World::from_environment() reads them.
inline constexpr const char* kRankVariable = "SYNCOPATE_RANK";
inline constexpr const char* kRanksVariable = "SYNCOPATE_RANKS";
inline constexpr const char* kBoardVariable = "SYNCOPATE_BOARD";
inline constexpr const char* kTimeoutVariable = "SYNCOPATE_TIMEOUT";  // seconds, a decimal number

inline constexpr Duration kDefaultTimeout = std::chrono::minutes(5);
/// As good as for ever, and far from where the clock would overflow.
inline constexpr Duration kLongestTimeout = std::chrono::hours(24 * 365 * 10);
/// How long a wait may take, as SYNCOPATE_TIMEOUT says; throws Error if it makes no sense.
Duration timeout_from_environment();

class LauncherBoard {
 public:
  /// `behind`: what ranks of the same build put on a board (world/layout.h).
  LauncherBoard(int ranks, LayoutBehind behind);
  ~LauncherBoard();

  /// The value for SYNCOPATE_BOARD: a path that is good while this process lives.
  std::string address() const;

  /// The process started for `rank` has ended. Without this a rank that ended before it joined
  /// would be waited for.
  void gone(int local_rank);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syncopate::board
