// The usual disturbance of small pictures in training: moved by up to four pixels, and mirrored
// half of the time.
#pragma once

#include <cstdint>

#include "train/data/images.h"

namespace syncopate::train {

/// Writes picture `number` of `images` to `target`, moved and mirrored as `random` says; what
/// moves in from outside is black.
void crop_and_flip(const Images& images, std::int64_t number, std::uint64_t random,
                   std::uint8_t* target);

}  // namespace syncopate::train
