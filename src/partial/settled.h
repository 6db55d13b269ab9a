// What this rank alone knows of rounds that it has settled with its pair (pair_runner.h): they are
// over, though no word on the board may say so yet. Of ranks that are no pair nothing is settled.
#pragma once

#include "board/words.h"

namespace syncopate::partial {

struct Settled {
  board::RoundNumber through = 0;
  bool just_now = false;  ///< The last round was settled, and nothing was deposited since.

  /// Whether no rank waits until this one lets go of the round: each has a result of its own.
  bool keeps(board::RoundNumber round) const { return just_now && through == round; }
};

}  // namespace syncopate::partial
