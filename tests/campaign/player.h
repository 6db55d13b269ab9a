// One rank's part in one collective: deposits that tell whose they are and which, in any legal
// order, and notes of all that comes back.
#pragma once

#include <memory>

#include "campaign/notes.h"

namespace syncopate::campaign {

class Player {
 public:
  virtual ~Player() = default;

  /// One step of training; returns when the rank is through with it. `alone`: no other collective
  /// needs this rank meanwhile, so that it may be late and lazy.
  virtual void step(bool alone) = 0;
  /// No more data.
  virtual void stop() = 0;
  /// Follows the others without waiting; whether it is over.
  virtual bool follow() = 0;
  /// Follows the others to the end.
  virtual void finish() = 0;
  virtual void leave() = 0;
};

/// Makes the collective together with the others. `random` is this rank's own chance.
std::unique_ptr<Player> make_player(Notes& notes, const World& world, int index,
                                    const Collective& collective, Random& random);

/// What a deposit says of itself: a small number that tells it from its neighbors.
double word_of(int rank, std::uint32_t number, DataType type);

}  // namespace syncopate::campaign
